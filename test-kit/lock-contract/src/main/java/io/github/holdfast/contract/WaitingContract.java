package io.github.holdfast.contract;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.LockService;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The tests of {@link LockContract} for threads that wait for a lock of another service. */
abstract class WaitingContract extends TwoServices {

    /** Longer than a test waits. Otherwise, a thread that gave up would look like a database that does not answer. */
    static final Duration LONG = ofMinutes(2);

    /** Enough for the waiter's row to be seen, even in a slow database. */
    private static final Duration UNTIL_SEEN = ofSeconds(5);

    /** A waiter attempts by itself until a moment after its row is there. */
    private static final Duration SETTLED = ofSeconds(1);

    static final Duration LOOK_AGAIN = ofMillis(20);
    private static final int FAIR_REQUESTS = 6;

    /** A thread needs a connection when it begins to wait, and when it is granted the lock. In between, it needs none. */
    private static final int AT_ONCE = 4;

    private static final int GROUPS = 10;

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final List<Future<Long>> waiting = new ArrayList<>();

    /** Ends the waits of a failed test. */
    @AfterEach
    void stopWaiting() {
        waiting.forEach(waiter -> waiter.cancel(true));
        waiting.clear();
    }

    @AfterAll
    void endThreads() {
        threads.shutdownNow();
    }

    /** Lets a thread acquire the lock, and release it. Its result is the token. */
    private Future<Long> waitFor(LockService locks, LockRequest request, Duration atMost) {
        return waitFor(() -> locks.acquire(request.waitAtMost(atMost)));
    }

    /** As {@link #waitFor(LockService, LockRequest, Duration)}, for any acquisition. */
    final Future<Long> waitFor(Callable<LockHandle> acquisition) {
        Future<Long> waiter = threads.submit(() -> {
            try (LockHandle lock = acquisition.call()) {
                return lock.fencingToken();
            }
        });
        waiting.add(waiter);
        return waiter;
    }

    /** Returns when so many rows of waiters are there. */
    private void awaitWaiters(long expected, String name, String what) {
        long end = System.nanoTime() + SOON.toNanos();
        long found = database().waiters(name);
        while (found != expected && System.nanoTime() - end < 0) {
            LockSupport.parkNanos(LOOK_AGAIN.toNanos());
            found = database().waiters(name);
        }
        assertEquals(expected, found, what);
    }

    private void awaitWaiting(long expected, String name) {
        awaitWaiters(expected, name, "Rows in lock_waiter while threads wait for a lock of another service");
    }

    /** Returns when the waiter has been there for so long that it no longer attempts by itself. */
    final void awaitLongWait(String name) {
        awaitWaiting(1, name);
        long end = System.nanoTime() + SETTLED.toNanos();
        while (System.nanoTime() - end < 0) {
            assertEquals(1, database().waiters(name), "Rows in lock_waiter while a thread waits for long");
            LockSupport.parkNanos(LOOK_AGAIN.toNanos());
        }
    }

    private void awaitNobodyWaits(String name) {
        awaitWaiters(0, name, "Rows in lock_waiter that are not deleted although no thread waits");
    }

    static void giveBack(LockHandle lock) {
        assertEquals(ReleaseOutcome.RELEASED, lock.release());
    }

    static long tokenOf(Future<Long> waiter) throws Exception {
        return Threads.resultOf(waiter, SOON, "A thread still waits for a lock that another service has released");
    }

    @Test
    void aWaiterIsGrantedTheLockAfterItsReleaseByAnotherService() throws Exception {
        LockRequest request = request("wanted");
        LockHandle lock = take(service(0), request);
        Future<Long> waiter = waitFor(service(1), request, LONG);
        awaitLongWait(request.name());
        giveBack(lock);
        assertTrue(tokenOf(waiter) > lock.fencingToken(), "The token of a waiter is not greater");
        awaitNobodyWaits(request.name());
    }

    @Test
    void fairRequestsOfTwoServicesAreGrantedInTheOrderOfTheirArrival() throws Exception {
        LockRequest request = request("in order").fair();
        LockHandle lock = take(service(0), request);
        List<Future<Long>> waiters = new ArrayList<>();
        for (int number = 0; number < FAIR_REQUESTS; number++) {
            waiters.add(waitFor(service(number), request, LONG));
            awaitWaiting(number + 1, request.name());
        }
        giveBack(lock);
        List<Long> tokens = new ArrayList<>();
        for (Future<Long> waiter : waiters) {
            tokens.add(tokenOf(waiter));
        }
        assertEquals(
                tokens.stream().sorted().toList(), tokens, "Tokens of fair requests in the order of their arrival");
        awaitNobodyWaits(request.name());
    }

    @Test
    void aWaiterThatGivesUpLeavesNoRow() {
        LockRequest request = request("given up");
        LockHandle lock = take(service(0), request);
        Future<Long> waiter = waitFor(service(1), request, UNTIL_SEEN);
        Future<Long> fair = waitFor(service(1), request.fair(), UNTIL_SEEN);
        awaitWaiting(2, request.name());
        assertThrows(LockNotAcquiredException.class, () -> tokenOf(waiter));
        assertThrows(LockNotAcquiredException.class, () -> tokenOf(fair));
        awaitNobodyWaits(request.name());
        giveBack(lock);
    }

    @Test
    void fortyThreadsThatWaitForFortyLocksAreAllServed() throws Exception {
        List<LockHandle> held = new ArrayList<>();
        List<Future<Long>> waiters = new ArrayList<>();
        for (int group = 0; group < GROUPS; group++) {
            for (int number = 0; number < AT_ONCE; number++) {
                LockRequest request = request("many " + held.size());
                held.add(take(service(0), request));
                waiters.add(waitFor(service(1), request, LONG));
            }
            awaitWaiting(held.size(), database().name("many"));
        }
        for (int first = 0; first < held.size(); first += AT_ONCE) {
            held.subList(first, first + AT_ONCE).forEach(WaitingContract::giveBack);
            for (int number = first; number < first + AT_ONCE; number++) {
                assertTrue(
                        tokenOf(waiters.get(number)) > held.get(number).fencingToken(),
                        "The token of a waiter is not greater");
            }
        }
        awaitNobodyWaits(database().name("many"));
    }
}
