package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.engine.hold.HandOffThread;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The write that grants a lock to the next thread has no answer for long, as on a connection that is dead, while the database is
 * well. The thread that waits for it need not wait for longer than it wants to, and whatever becomes of the write, nothing stays held.
 */
@OnEachDatabase
class LeavingWaiterTest {

    private static final Duration SOON = ofSeconds(60);

    /** Much less than the write lasts. */
    private static final long AT_ONCE_MILLIS = 30_000;

    private static final int HANDING_OVER = 4;
    private static final int HAND_OVERS = 1_000;

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private Services services;
    private LateAnswer late;
    private LockService mine;
    private LockService theirs;
    private TestRows rows;

    @BeforeEach
    void open(Database database) {
        services = Services.on(database);
        late = new LateAnswer(database.dataSource());
        mine = services.patientlyOpenOver(late.dataSource());
        theirs = services.open();
        rows = TestRows.of(database);
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

    private HandOffThread waiting(LockRequest request) {
        return HandOffThread.start(() -> mine.acquire(request));
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

    private static void assertEndsAtOnce(HandOffThread waiter, Class<? extends Exception> by)
            throws InterruptedException {
        waiter.join(AT_ONCE_MILLIS);
        assertThat(waiter).as("it still waits").isDone();
        assertThatExceptionOfType(ExecutionException.class)
                .isThrownBy(waiter::lock)
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
        HandOffThread waiter = waiting(request("late").waitAtMost(ofSeconds(5)));
        Future<ReleaseOutcome> release = releasing(first);
        assertEndsAtOnce(waiter, LockNotAcquiredException.class);
        assertThat(theirs.find("late")).as("granted to it").isPresent();
        late.answer();
        assertThat(get(release)).isEqualTo(ReleaseOutcome.RELEASED);
        assertFree("late");
    }

    @Test
    void whoIsInterruptedLeavesAndWhatItWasGrantedIsGivenBack() throws Exception {
        LockHandle first = mine.acquire(request("interrupted"));
        HandOffThread waiter = waiting(request("interrupted").lease(ofMinutes(10)));
        Future<ReleaseOutcome> release = releasing(first);
        waiter.interrupt();
        assertEndsAtOnce(waiter, InterruptedException.class);
        late.answer();
        assertThat(get(release)).isEqualTo(ReleaseOutcome.RELEASED);
        assertFree("interrupted");
    }

    @Test
    void whatWasGrantedWithoutAnAnswerToOneThatHasLeftIsFreedToo() throws Exception {
        LockHandle first = mine.acquire(request("lost"));
        HandOffThread waiter = waiting(request("lost").lease(ofMinutes(10)));
        Future<ReleaseOutcome> release = releasing(first);
        waiter.interrupt();
        assertEndsAtOnce(waiter, InterruptedException.class);
        late.loseAnswer();
        assertThat(get(release)).isEqualTo(ReleaseOutcome.RELEASED);
        assertFree("lost");
    }

    @Test
    void whenTheServiceIsClosedItLeavesAndItsLeaseDoesNotStay() throws Exception {
        LockHandle first = mine.acquire(request("closed"));
        HandOffThread waiter = waiting(request("closed").lease(ofMinutes(10)));
        Future<ReleaseOutcome> release = releasing(first);
        mine.close();
        assertEndsAtOnce(waiter, IllegalStateException.class);
        late.answer();
        assertThat(get(release)).isEqualTo(ReleaseOutcome.RELEASED);
        theirs.acquire(request("closed")).close();
    }

    @Test
    void whoWaitsBehindOneThatHasLeftIsNextWhenTheWriteHasEnded() throws Exception {
        LockHandle first = mine.acquire(request("queue"));
        HandOffThread waiter = waiting(request("queue").lease(ofMinutes(10)));
        Future<LockHandle> behind = threads.submit(() -> mine.acquire(request("queue")));
        Future<ReleaseOutcome> release = releasing(first);
        waiter.interrupt();
        assertEndsAtOnce(waiter, InterruptedException.class);
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
        HandOffThread waiter = waiting(request("patient"));
        Future<ReleaseOutcome> release = releasing(first);
        late.answer();
        LockHandle second = waiter.lock();
        assertThat(get(release)).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(second.fencingToken()).isEqualTo(first.fencingToken() + 1);
        assertThat(second.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertFree("patient");
    }

    /**
     * A service waits, and is woken although the holder has released nothing. It expects the row that a release would write, and its
     * grant does not arrive. It must not arrive after the release either.
     */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aGrantThatExpectedAReleaseIsImpossibleOnceItsWaiterHasLeft(boolean isOwnerChosen, Database database)
            throws Exception {
        assumeFalse(database.kind().isH2(), "its waiters are not woken, and expect nothing");
        LockRequest request = request("expected").lease(ofMinutes(10));
        LockHandle held = theirs.acquire(request);
        long version = rows.row("expected").version();
        Future<LockHandle> waiter = threads.submit(() -> mine.acquire(isOwnerChosen ? request.owner("mine") : request));
        await().atMost(SOON).until(() -> mine.admin().waiting() == 1);
        late.stickNextGrant();
        LockRequest wakesTheOtherWhenItLeaves =
                LockRequest.of("expected").fair().waitAtMost(ofMillis(200));
        await().atMost(SOON).until(() -> {
            assertThatExceptionOfType(LockNotAcquiredException.class)
                    .isThrownBy(() -> theirs.acquire(wakesTheOtherWhenItLeaves.owner("next")));
            return late.isStuck();
        });
        if (!isOwnerChosen) {
            waiter.cancel(true);
        }
        await().atMost(SOON).until(() -> rows.row("expected").version() > version + 1);
        assertThat(held.release()).isEqualTo(ReleaseOutcome.RELEASED);
        if (isOwnerChosen) {
            get(waiter).close();
        }
        assertFree("expected");
    }

    /**
     * Between the begin of a release and the choice of the next thread, that one may see that the lock is not held any more. It ends
     * after a time, since a slow machine hands over less often; what is asserted is that nobody gives up before its wait time is over.
     */
    @Test
    void whoWaitsLongEnoughHasItHoweverOftenItIsHandedOver() throws Exception {
        CyclicBarrier together = new CyclicBarrier(HANDING_OVER);
        long enough = System.nanoTime() + ofSeconds(10).toNanos();
        List<Future<Integer>> all = new ArrayList<>();
        for (int thread = 0; thread < HANDING_OVER; thread++) {
            all.add(threads.submit(() -> {
                together.await();
                int acquired = 0;
                while (acquired < HAND_OVERS && System.nanoTime() < enough) {
                    mine.acquire(request("often")).close();
                    acquired++;
                }
                return acquired;
            }));
        }
        for (Future<Integer> one : all) {
            assertThat(one.get(60, TimeUnit.SECONDS)).isPositive();
        }
        assertFree("often");
    }
}
