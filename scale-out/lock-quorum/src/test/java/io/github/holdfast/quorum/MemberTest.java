package io.github.holdfast.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.Locks;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Which questions a member is asked that leaves others unanswered. */
class MemberTest {

    private static final Duration LONG = Duration.ofSeconds(60);

    private final List<Database> databases = Stream.generate(() -> Database.create(TestDatabase.H2_MEMORY))
            .limit(3)
            .toList();
    private final Client client = Client.on(databases);
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final CountDownLatch answering = new CountDownLatch(1);
    private final Member member = new Member(0, client.member(0), threads, Duration.ofMillis(10));

    @AfterEach
    void close() {
        answering.countDown();
        threads.shutdown();
        client.close();
        databases.forEach(Database::close);
    }

    private boolean isFree(Locks locks) {
        return locks.find("asked").isEmpty();
    }

    /** Answers when the test says so. */
    private boolean isFreeLater(Locks locks) {
        try {
            return answering.await(LONG.toSeconds(), TimeUnit.SECONDS) && isFree(locks);
        } catch (InterruptedException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private Optional<Throwable> failure(CompletableFuture<Boolean> answer) {
        return Optional.ofNullable(answer.handle((isFree, thrown) -> thrown).join());
    }

    @Test
    void fourOverdueAnswersKeepItFromBeingAskedButNotFromRenewals() throws Exception {
        List<CompletableFuture<Boolean>> overdue = Stream.generate(() -> member.ask("overdue", this::isFreeLater))
                .limit(4)
                .toList();

        await().atMost(LONG)
                .untilAsserted(() -> assertThat(failure(member.ask("not asked", this::isFree)))
                        .containsInstanceOf(TimeoutException.class));
        assertThat(member.askToRenew("renewal", this::isFree).get(LONG.toSeconds(), TimeUnit.SECONDS))
                .isTrue();
        assertThat(member.tell("release", this::isFree).get(LONG.toSeconds(), TimeUnit.SECONDS))
                .isTrue();

        answering.countDown();
        for (CompletableFuture<Boolean> answer : overdue) {
            assertThat(answer.get(LONG.toSeconds(), TimeUnit.SECONDS)).isTrue();
        }
        await().atMost(LONG)
                .until(() -> failure(member.ask("asked again", this::isFree)).isEmpty());
    }

    @Test
    void fourOverdueRenewalsKeepItFromRenewalsOnly() throws Exception {
        List<CompletableFuture<Boolean>> overdue = Stream.generate(
                        () -> member.askToRenew("overdue", this::isFreeLater))
                .limit(4)
                .toList();

        await().atMost(LONG)
                .untilAsserted(() -> assertThat(failure(member.askToRenew("not asked", this::isFree)))
                        .containsInstanceOf(TimeoutException.class));
        assertThat(member.ask("asked", this::isFree).get(LONG.toSeconds(), TimeUnit.SECONDS))
                .isTrue();
        assertThat(overdue).noneMatch(CompletableFuture::isDone);
    }
}
