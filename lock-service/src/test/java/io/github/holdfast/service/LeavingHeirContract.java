package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.github.holdfast.test.Database;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * The write that grants a lock to the next thread has no answer for long, as on a connection that is dead, while the database is
 * well. The thread that waits for it need not wait for longer than it wants to, and whatever becomes of the write, nothing stays held.
 */
abstract class LeavingHeirContract {

    private static final Duration SOON = ofSeconds(20);

    /** Much less than the write lasts. */
    private static final long AT_ONCE_MILLIS = 5_000;

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private Services services;
    private LateAnswer late;
    private LockService mine;
    private LockService theirs;

    @BeforeEach
    void open(Database database) {
        services = Services.on(database);
        late = new LateAnswer(database.dataSource());
        mine = services.openOver(late.dataSource());
        theirs = services.open();
    }

    @AfterEach
    void close() throws Exception {
        late.answer();
        threads.shutdownNow();
        services.close();
    }

    private static LockRequest request(String name) {
        return LockRequest.of(name).waitAtMost(SOON);
    }

    private HeirThread waiting(LockRequest request) {
        return HeirThread.start(() -> mine.acquire(request));
    }

    /** Returns when the lock was granted to the next thread, which has not been told. */
    private Future<ReleaseOutcome> releasing(LockHandle lock) throws InterruptedException {
        Future<ReleaseOutcome> release = threads.submit(() -> {
            late.choose();
            return lock.release();
        });
        late.awaitDone();
        return release;
    }

    private static <T> T get(Future<T> future) throws Exception {
        return future.get(SOON.toSeconds(), TimeUnit.SECONDS);
    }

    private static void assertEndsAtOnce(HeirThread heir, Class<? extends Exception> by) throws InterruptedException {
        heir.join(AT_ONCE_MILLIS);
        assertThat(heir).as("it still waits").isDone();
        assertThatExceptionOfType(ExecutionException.class)
                .isThrownBy(heir::lock)
                .withCauseInstanceOf(by);
    }

    private void assertFree(String name) throws Exception {
        theirs.acquire(request(name)).close();
        mine.acquire(request(name)).close();
        assertThat(mine.admin().waiting()).isZero();
    }

    @Test
    void whoseTimeIsOverLeavesAndWhatItWasGrantedIsGivenBack() throws Exception {
        LockHandle first = mine.acquire(request("late"));
        HeirThread heir = waiting(request("late").waitAtMost(ofMillis(500)));
        Future<ReleaseOutcome> release = releasing(first);
        assertEndsAtOnce(heir, LockNotAcquiredException.class);
        assertThat(theirs.find("late")).as("granted to it").isPresent();
        late.answer();
        assertThat(get(release)).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(theirs.find("late"))
                .as("given back by the one that granted it")
                .isEmpty();
        assertFree("late");
    }

    @Test
    void whoIsInterruptedLeavesAndWhatItWasGrantedIsGivenBack() throws Exception {
        LockHandle first = mine.acquire(request("interrupted"));
        HeirThread heir = waiting(request("interrupted").lease(ofMinutes(10)));
        Future<ReleaseOutcome> release = releasing(first);
        heir.interrupt();
        assertEndsAtOnce(heir, InterruptedException.class);
        late.answer();
        assertThat(get(release)).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(theirs.find("interrupted")).isEmpty();
        assertFree("interrupted");
    }

    @Test
    void whatWasGrantedWithoutAnAnswerToOneThatHasLeftIsFreedToo() throws Exception {
        LockHandle first = mine.acquire(request("lost"));
        HeirThread heir = waiting(request("lost").lease(ofMinutes(10)));
        Future<ReleaseOutcome> release = releasing(first);
        heir.interrupt();
        assertEndsAtOnce(heir, InterruptedException.class);
        late.loseAnswer();
        assertThat(get(release)).isEqualTo(ReleaseOutcome.RELEASED);
        assertFree("lost");
    }

    @Test
    void whenTheServiceIsClosedItLeavesAndItsLeaseDoesNotStay() throws Exception {
        LockHandle first = mine.acquire(request("closed"));
        HeirThread heir = waiting(request("closed").lease(ofMinutes(10)));
        Future<ReleaseOutcome> release = releasing(first);
        mine.close();
        assertEndsAtOnce(heir, IllegalStateException.class);
        late.answer();
        assertThat(get(release)).isEqualTo(ReleaseOutcome.RELEASED);
        theirs.acquire(request("closed")).close();
    }

    @Test
    void whoWaitsBehindOneThatHasLeftIsNextWhenTheWriteHasEnded() throws Exception {
        LockHandle first = mine.acquire(request("queue"));
        HeirThread heir = waiting(request("queue").lease(ofMinutes(10)));
        Future<LockHandle> behind = threads.submit(() -> mine.acquire(request("queue")));
        Future<ReleaseOutcome> release = releasing(first);
        heir.interrupt();
        assertEndsAtOnce(heir, InterruptedException.class);
        late.answer();
        assertThat(get(release)).isEqualTo(ReleaseOutcome.RELEASED);
        LockHandle second = get(behind);
        assertThat(second.fencingToken()).isGreaterThan(first.fencingToken() + 1);
        assertThat(second.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertFree("queue");
    }

    @Test
    void whoIsStillThereHasIt() throws Exception {
        LockHandle first = mine.acquire(request("patient"));
        HeirThread heir = waiting(request("patient"));
        Future<ReleaseOutcome> release = releasing(first);
        late.answer();
        LockHandle second = heir.lock();
        assertThat(get(release)).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(second.fencingToken()).isEqualTo(first.fencingToken() + 1);
        assertThat(second.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertFree("patient");
    }
}
