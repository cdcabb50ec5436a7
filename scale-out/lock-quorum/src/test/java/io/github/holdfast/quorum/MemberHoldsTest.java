package io.github.holdfast.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Holds when they are lost, and when the process has no threads left. */
@Tag("outage")
class MemberHoldsTest {

    private static final Duration LONG = Duration.ofSeconds(60);

    private final List<Database> databases = Stream.generate(() -> Database.create(TestDatabase.H2_MEMORY))
            .limit(3)
            .toList();
    private final Client client = Client.on(databases);
    private final AtomicBoolean areThreadsUsedUp = new AtomicBoolean();

    /** Keeps no thread, so that each question needs a new one. */
    private final ThreadPoolExecutor threads = new ThreadPoolExecutor(
            0, Integer.MAX_VALUE, 0, TimeUnit.SECONDS, new SynchronousQueue<>(), this::threadOrError);

    private final MemberHolds holds = new MemberHolds();
    private final Quorum quorum = quorum();

    private Quorum quorum() {
        List<Member> members = new ArrayList<>();
        for (LockService service : client.members()) {
            members.add(new Member(members.size(), service, threads, LONG));
        }
        HealingPauses pauses = new HealingPauses(Duration.ofMillis(1), Duration.ofMillis(1));
        return new Quorum(members, LONG, pauses, threads);
    }

    private Thread threadOrError(Runnable work) {
        if (areThreadsUsedUp.get()) {
            throw new OutOfMemoryError("The test has no thread left");
        }
        return new Thread(work);
    }

    @AfterEach
    void close() {
        areThreadsUsedUp.set(false);
        threads.shutdown();
        client.close();
        databases.forEach(Database::close);
    }

    private QuorumHold acquire(String name) throws Exception {
        QuorumHold hold = new QuorumHold(quorum, LockRequest.of(name), Acquirer.current(), holds);
        MajorityAttempt attempt = new MajorityAttempt(quorum, hold);
        holds.add(hold, attempt);
        attempt.begin();
        assertThat(hold.decision().get(LONG.toSeconds(), TimeUnit.SECONDS)).isTrue();
        await().atMost(LONG).until(() -> quorum.members().stream().noneMatch(hold::isMissing));
        return hold;
    }

    private List<QuorumHold> open() {
        List<QuorumHold> open = new ArrayList<>();
        holds.forEach(open::add);
        return open;
    }

    @Test
    void aLostHoldThatIsForgottenIsNotKept() throws Exception {
        QuorumHold hold = acquire("forgotten");
        holds.attach(hold);
        assertThat(open()).containsExactly(hold);
        assertThat(holds.reenter(LockRequest.of("forgotten"))).isPresent();

        for (LockService member : client.members()) {
            member.admin().forceRelease("forgotten", "test");
        }

        await().atMost(LONG).until(() -> hold.state() == LockState.LOST);
        assertThat(open()).isEmpty();
        assertThat(holds.reenter(LockRequest.of("forgotten"))).isEmpty();
        holds.attach(hold);
        assertThat(holds.reenter(LockRequest.of("forgotten"))).isEmpty();
    }

    /** Another thread may release a handle that is not detached. */
    @Test
    void aHoldThatIsAboutToBeGivenBackIsNotReentered() throws Exception {
        QuorumHold hold = acquire("given back");
        AtomicBoolean isReentered = new AtomicBoolean();
        AtomicBoolean isAsked = new AtomicBoolean();
        LockHandle last = client.member(2)
                .tryAcquire(LockRequest.of("asked at the release"))
                .orElseThrow();
        Member another = new Member(2, client.member(2), threads, LONG);
        hold.join(another, whenAskedForItsState(last, () -> {
            if (hold.holdCount() == 0 && !isAsked.getAndSet(true)) {
                isReentered.set(hold.reenter());
            }
        }));

        assertThat(hold.release()).isEqualTo(ReleaseOutcome.RELEASED);

        assertThat(isAsked).isTrue();
        assertThat(isReentered).isFalse();
    }

    private static LockHandle whenAskedForItsState(LockHandle handle, Runnable first) {
        return (LockHandle) Proxy.newProxyInstance(
                LockHandle.class.getClassLoader(), new Class<?>[] {LockHandle.class}, (proxy, called, arguments) -> {
                    if (called.getName().equals("state")) {
                        first.run();
                    }
                    return called.invoke(handle, arguments);
                });
    }

    @Test
    void holdsAreHealedWhenThereAreThreadsAgain() throws Exception {
        QuorumHold hold = acquire("healed");
        client.member(1).admin().forceRelease("healed", "test");
        await().atMost(LONG).until(() -> hold.isMissing(quorum.members().get(1)));
        await().atMost(LONG).until(() -> threads.getPoolSize() == 0);
        areThreadsUsedUp.set(true);

        holds.heal();

        assertThat(client.member(1).find("healed")).isEmpty();
        areThreadsUsedUp.set(false);
        await().atMost(LONG).until(() -> {
            holds.heal();
            return !hold.isMissing(quorum.members().get(1));
        });
        assertThat(hold.giveBack()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    @Test
    void whatIsHeldIsReleasedWithoutThreads() throws Exception {
        QuorumHold hold = acquire("no threads");
        await().atMost(LONG).until(() -> threads.getPoolSize() == 0);
        areThreadsUsedUp.set(true);

        QuorumHold another = new QuorumHold(quorum, LockRequest.of("another"), Acquirer.current(), holds);
        MajorityAttempt attempt = new MajorityAttempt(quorum, another);
        attempt.begin();
        assertThat(another.decision().get(LONG.toSeconds(), TimeUnit.SECONDS)).isFalse();
        assertThat(attempt.failure(LONG))
                .isInstanceOf(LockStoreException.class)
                .hasMessageContaining("only 0 of 3 members answered");

        assertThat(hold.giveBack()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(client.members())
                .allSatisfy(member -> assertThat(member.find("no threads")).isEmpty());
    }
}
