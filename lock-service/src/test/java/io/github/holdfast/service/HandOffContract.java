package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.engine.FakeTicker;
import io.github.holdfast.service.engine.hold.HandOffThread;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** How a lock goes from one thread of a process to the next that waits for it. */
@SuppressWarnings("NullAway.Init") // Set before each test.
abstract class HandOffContract {

    final FakeTicker ticker = new FakeTicker();
    final ExecutorService threads = Executors.newCachedThreadPool();
    TestServices services;
    LockService mine;
    LockService theirs;
    private int names;

    @BeforeEach
    void build() {
        services = services();
        mine = mine();
        theirs = services.open();
    }

    /** Opens the services of the leaf. */
    abstract TestServices services();

    /** Opens the service whose threads pass the lock on. */
    abstract LockService mine();

    @AfterEach
    void close() throws Exception {
        threads.shutdownNow();
        services.close();
    }

    /** A service for which time passes only when {@link #ticker} advances. */
    abstract LockService timed();

    final LockRequest request() {
        return LockRequest.of("succession " + ++names).waitAtMost(ofSeconds(20));
    }

    final HandOffThread waiting(LockRequest request) {
        return waiting(mine, request);
    }

    static HandOffThread waiting(LockService service, LockRequest request) {
        return HandOffThread.start(() -> service.acquire(request));
    }

    final LockInfo row(LockHandle lock) {
        return theirs.find(lock.name()).orElseThrow();
    }

    final void assertFreeAfter(LockHandle lock) throws Exception {
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
        theirs.acquire(LockRequest.of(lock.name()).waitAtMost(ofSeconds(10))).close();
    }

    @Test
    void eachHasTheLeaseOfItsOwnRequest() throws Exception {
        LockRequest request = request();
        LockHandle first = mine.acquire(request);
        HandOffThread next = waiting(request.lease(ofSeconds(60)));
        first.close();
        LockHandle second = next.lock();
        assertThat(second.remaining()).isBetween(ofSeconds(40), ofSeconds(60));
        assertThat(row(second).nodeId()).isNull();
        HandOffThread last = waiting(request);
        second.close();
        assertThat(row(last.lock()).nodeId()).isNotNull();
        assertFreeAfter(last.lock());
    }

    @Test
    void whoIsNotInTheQueueOfThisServiceIsOfferedTheLockToo() throws Exception {
        LockRequest request = request();
        AtomicBoolean isGranted = new AtomicBoolean();
        List<Future<?>> work = new ArrayList<>();
        for (int thread = 0; thread < 3; thread++) {
            work.add(threads.submit(() -> {
                while (!isGranted.get()) {
                    mine.acquire(request).close();
                }
                return null;
            }));
        }
        try {
            mine.acquire(request.owner("chosen")).close();
        } finally {
            isGranted.set(true);
        }
        for (Future<?> thread : work) {
            thread.get(60, TimeUnit.SECONDS);
        }
    }

    @Test
    void aNodeThatSaysThatItWaitsIsOfferedTheLockFirst() throws Exception {
        LockService timed = timed();
        LockRequest request = request();
        LockHandle first = timed.acquire(request);
        HandOffThread next = waiting(timed, request);
        Future<LockHandle> other = threads.submit(() -> theirs.acquire(request));
        // The node says so with its mark, and then with the row of its waiter.
        await().until(() -> services.tables().count("HoldfastWaiter", Map.of("name", request.name())) == 1);
        ticker.advance(ofMillis(999));
        first.close();
        LockHandle second = next.lock();
        HandOffThread last = waiting(timed, request);
        ticker.advance(ofMillis(1));
        second.close();
        LockHandle third = other.get(60, TimeUnit.SECONDS);
        assertThat(third.fencingToken()).isEqualTo(second.fencingToken() + 1);
        third.close();
        ticker.advance(ofSeconds(1));
        assertFreeAfter(last.lock());
    }

    @Test
    void whoseLockIsGoneIsToldSoAlthoughAnotherOneWaits() throws Exception {
        LockRequest request = request().lease(ofSeconds(60));
        LockHandle first = mine.acquire(request);
        HandOffThread next = waiting(request);
        theirs.admin().forceRelease(request.name(), "to see what happens");
        assertThat(first.release()).isEqualTo(ReleaseOutcome.LOST);
        next.cancel(true);
    }

    @Test
    void whoIsInterruptedOrLateHasNothingAndTheLockIsFree() throws Exception {
        LockRequest request = request();
        LockHandle first = mine.acquire(request);
        HandOffThread interrupted = waiting(request);
        interrupted.interrupt();
        assertThatExceptionOfType(ExecutionException.class)
                .isThrownBy(interrupted::lock)
                .withCauseInstanceOf(InterruptedException.class);
        HandOffThread late = waiting(request.waitAtMost(ofMillis(300)));
        assertThatExceptionOfType(ExecutionException.class)
                .isThrownBy(late::lock)
                .withCauseInstanceOf(LockNotAcquiredException.class);
        assertFreeAfter(first);
    }

    @Test
    void whatKeepsEverybodyOutForAWhileKeepsTheNextOneOutToo() throws Exception {
        LockRequest request = request();
        // Before the grant, from which the time counts.
        Instant start = theirs.admin().databaseClock();
        LockHandle first = mine.acquire(request.minimumHold(ofSeconds(2)));
        HandOffThread next = waiting(request);
        first.close();
        LockHandle second = next.lock();
        assertThat(theirs.admin().databaseClock()).isAfterOrEqualTo(start.plusSeconds(2));
        assertFreeAfter(second);
    }

    @Test
    void whoWaitsWhenTheServiceIsClosedIsToldSo() throws Exception {
        LockRequest request = request();
        LockHandle held = mine.acquire(request);
        HandOffThread next = waiting(request);
        mine.close();
        assertThatExceptionOfType(ExecutionException.class)
                .isThrownBy(next::lock)
                .withCauseInstanceOf(IllegalStateException.class);
        assertThat(held.state()).isEqualTo(LockState.LOST);
        theirs.acquire(request).close();
    }

    @Test
    void threadsThatComeAndGoNeverHaveItTogetherAndLeaveNothing() throws Exception {
        LockRequest request = request();
        AtomicInteger inside = new AtomicInteger();
        List<Future<?>> work = new ArrayList<>();
        for (int thread = 0; thread < 6; thread++) {
            LockService service = thread < 4 ? mine : theirs;
            long wait = 1 + thread * 7L;
            work.add(threads.submit(() -> {
                for (int turn = 0; turn < 100; turn++) {
                    try (LockHandle lock = service.acquire(request.waitAtMost(ofMillis(wait * 20)))) {
                        assertThat(inside.incrementAndGet()).isEqualTo(1);
                        assertThat(lock.state()).isEqualTo(LockState.HELD);
                        inside.decrementAndGet();
                    } catch (LockNotAcquiredException refused) {
                        assertThat(refused.getMessage()).contains(request.name());
                    } catch (LockStoreException busy) {
                        FairTest.assertBusy(busy);
                    }
                }
                return null;
            }));
        }
        for (Future<?> thread : work) {
            thread.get(120, TimeUnit.SECONDS);
        }
        assertThat(mine.admin().waiters()).isEmpty();
        theirs.acquire(request).close();
    }
}
