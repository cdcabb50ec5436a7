package io.github.holdfast.contract;

import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.HoldfastException;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockMode;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockUpgradeException;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.semaphore.SemaphoreRequest;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** The tests of {@link LockContract} for shared locks and semaphores, whose holders have rows of their own. */
abstract class SharingContract extends WaitingContract {

    private static final int THREADS = 6;
    private static final int ROUNDS = 6;
    private static final int LIMIT = 2;

    /** A lease that does not end within the test. */
    private static final Duration LEASE = ofMinutes(1);

    private static final String BESIDE_A_SHARE =
            "Granted exclusively although others share the lock: the rows of lock_holder are not seen, or an update"
                    + " does not compare";

    private SemaphoreRequest semaphore(String name) {
        return SemaphoreRequest.of(database().name(name)).limit(LIMIT);
    }

    private static Optional<LockHandle> tryAcquire(LockService locks, SemaphoreRequest request) {
        return locks.semaphore(request).tryAcquire();
    }

    private LockHandle take(LockService locks, SemaphoreRequest request) {
        return keep(tryAcquire(locks, request)
                .orElseThrow(() -> new AssertionError("Not granted although enough permits are left: " + request)));
    }

    /** Whether a thread that holds nothing yet is refused. */
    private static boolean isRefused(LockService locks, LockRequest request) throws Exception {
        return Threads.together(1, thread -> () -> {
                    Optional<LockHandle> lock = locks.tryAcquire(request);
                    lock.ifPresent(LockHandle::release);
                    return lock.isEmpty();
                })
                .get(0);
    }

    @Test
    void manyShareALockAndNobodyHasItAloneUntilTheLastHasReleasedIt() throws Exception {
        LockRequest alone = request("shared").lease(LEASE);
        LockHandle first = take(one(), alone.shared());
        LockHandle second = take(other(), request("shared").shared());
        assertEquals(LockMode.SHARED, second.mode());
        assertTrue(isRefused(one(), alone), BESIDE_A_SHARE);
        assertTrue(isRefused(other(), alone), BESIDE_A_SHARE);
        giveBack(first);
        assertTrue(isRefused(one(), alone), BESIDE_A_SHARE);
        giveBack(second);
        LockHandle last = await(other(), alone.waitAtMost(SOON));
        assertTrue(last.fencingToken() > second.fencingToken(), "The token after a share is not greater");
    }

    @Test
    void whoHasALockAloneSharesItWithNobody() throws Exception {
        LockRequest request = request("alone").lease(LEASE);
        LockHandle alone = take(one(), request);
        assertTrue(isRefused(one(), request.shared()), "Shared although another owner holds the lock exclusively");
        assertTrue(isRefused(other(), request.shared()), "Shared although another owner holds the lock exclusively");
        giveBack(alone);
        LockHandle share = take(other(), request.shared());
        assertTrue(share.fencingToken() > alone.fencingToken(), "The token of a share is not greater");
    }

    @Test
    void sharesAndExclusiveHoldsNeverOverlap() throws Exception {
        LockRequest alone = request("readers and writers").lease(LEASE).waitAtMost(SOON);
        AtomicInteger sharing = new AtomicInteger();
        AtomicInteger having = new AtomicInteger();
        Threads.together(THREADS, thread -> () -> {
            for (int round = 0; round < ROUNDS; round++) {
                boolean isShared = (thread + round) % 3 != 0;
                AtomicInteger own = isShared ? sharing : having;
                try (LockHandle lock = service(thread).acquire(isShared ? alone.shared() : alone)) {
                    own.incrementAndGet();
                    lock.ensureValidFor(Duration.ZERO);
                    int others = isShared ? having.get() : sharing.get() + having.get() - 1;
                    assertEquals(0, others, "Owners that a lock in mode " + lock.mode() + " excludes");
                    own.decrementAndGet();
                }
            }
            return thread;
        });
    }

    @Test
    void tokensGrowOverSharedAndExclusiveGrants() {
        LockRequest alone = request("tokens of both modes").lease(LEASE);
        long before = 0;
        for (int grant = 0; grant < THREADS; grant++) {
            LockHandle lock = take(service(grant), grant % 3 == 0 ? alone : alone.shared());
            assertTrue(lock.fencingToken() > before, lock.fencingToken() + " came after " + before);
            before = lock.fencingToken();
            giveBack(lock);
        }
    }

    @Test
    void whoSharesALockIsRefusedAtOnceToHaveItAlone() {
        LockRequest request = request("upgrade").lease(LEASE);
        take(one(), request.shared());
        assertThrows(LockUpgradeException.class, () -> one().tryAcquire(request));
        assertThrows(LockUpgradeException.class, () -> one().acquire(request.waitAtMost(LONG)));
    }

    @Test
    void whoDowngradesKeepsTheLockShared() throws Exception {
        LockRequest request = request("downgrade").lease(LEASE);
        LockHandle alone = take(one(), request);
        LockHandle share = keep(alone.downgrade());
        assertEquals(LockMode.SHARED, share.mode());
        assertEquals(alone.fencingToken() + 1, share.fencingToken(), "Another owner got the lock in between");
        assertTrue(isRefused(other(), request), BESIDE_A_SHARE);
        giveBack(take(other(), request.shared()));
        giveBack(share);
        giveBack(await(other(), request.waitAtMost(SOON)));
    }

    @Test
    void whoHasALockAloneMayShareIt() throws Exception {
        LockRequest request = request("nested share").lease(LEASE);
        LockHandle alone = take(one(), request);
        LockHandle share = take(one(), request.shared());
        assertEquals(alone.fencingToken(), share.fencingToken());
        assertEquals(ReleaseOutcome.STILL_HELD, share.release());
        assertTrue(isRefused(other(), request.shared()), "Shared although it was released once only");
        giveBack(alone);
    }

    @Test
    void whoWaitsToHaveALockAloneGetsItAfterTheLastShare() throws Exception {
        LockRequest request = request("wanted alone");
        LockHandle share = take(one(), request.shared());
        Future<Long> waiter = waitFor(() -> other().acquire(request.waitAtMost(LONG)));
        awaitLongWait(request.name());
        long end = System.nanoTime() + SOON.toNanos();
        while (!isRefused(one(), request.shared())) {
            assertTrue(System.nanoTime() - end < 0, "New shares come before the owner that waits for the old ones");
            LockSupport.parkNanos(LOOK_AGAIN.toNanos());
        }
        giveBack(share);
        assertTrue(tokenOf(waiter) > share.fencingToken(), "The token of a waiter is not greater");
    }

    @Test
    void aShareEndsWithItsLease() {
        LockRequest request = request("lease of a share").lease(SHORT);
        LockHandle dead = take(one(), request.shared());
        LockHandle living = take(other(), request.shared().lease(LEASE));
        living.renew(LEASE.multipliedBy(2));
        assertTrue(living.remaining().compareTo(LEASE) > 0, "Renewed, but it still lasts " + living.remaining());
        giveBack(living);
        LockHandle next = await(other(), request.lease(LEASE).waitAtMost(SOON));
        assertEquals(LockState.LOST, dead.state(), "Granted exclusively while a reader still relied on its share");
        assertTrue(next.fencingToken() > dead.fencingToken(), "The token of a takeover is not greater");
        assertEquals(ReleaseOutcome.LOST, dead.release(), "A previous holder released the lock of the next one");
        giveBack(next);
    }

    @Test
    void aTransactionUnderALostShareDoesNotCommit() {
        LockRequest request = request("lost share").lease(SHORT);
        String written = database().name("written under a lost share");
        take(one(), request.shared());
        assertThrows(
                RuntimeException.class,
                () -> database().inTransaction(em -> {
                    em.persist(new LockEntity(written, 1));
                    em.flush();
                    await(other(), request.lease(LEASE).waitAtMost(SOON));
                }),
                "Committed although another owner had been granted the lock exclusively");
        assertTrue(database().row(written).isEmpty(), "What was rolled back is there");
    }

    @Test
    void nobodyHasALockAloneBetweenTheGuardUnderAShareAndTheCommit() {
        LockRequest request = request("guarded share").lease(SHORT);
        LockHandle share = take(one(), request.shared());
        String written = database().name("written under a guarded share");
        database().inTransaction(em -> {
            em.persist(new LockEntity(written, 1));
            share.guard();
            assertThrows(
                    HoldfastException.class,
                    () -> await(other(), request.waitAtMost(SHORT.multipliedBy(4))),
                    "Granted before the commit: the database does not keep the row of lock_holder locked");
        });
        assertTrue(database().row(written).isPresent(), "What was committed is not there");
        await(other(), request.waitAtMost(SOON));
    }

    @Test
    void noMorePermitsAreHeldThanTheLimitSays() throws Exception {
        SemaphoreRequest leased = semaphore("limit").lease(LEASE).waitAtMost(SOON);
        SemaphoreRequest throughNode = semaphore("limit").waitAtMost(SOON);
        AtomicInteger inside = new AtomicInteger();
        Threads.together(THREADS, thread -> () -> {
            SemaphoreRequest request = thread % 3 == 0 ? throughNode : leased;
            for (int round = 0; round < ROUNDS; round++) {
                try (LockHandle permit = service(thread).semaphore(request).acquire()) {
                    int now = inside.incrementAndGet();
                    permit.ensureValidFor(Duration.ZERO);
                    assertTrue(now <= LIMIT, now + " permits are held, and the limit is " + LIMIT);
                    inside.decrementAndGet();
                }
            }
            return thread;
        });
    }

    @Test
    void permitsAreGrantedTogetherOrNotAtAllAndAReleaseMakesRoom() {
        SemaphoreRequest request = semaphore("room").lease(LEASE);
        LockHandle first = take(one(), request);
        assertTrue(tryAcquire(other(), request.permits(2)).isEmpty(), "Granted although one permit was left");
        LockHandle second = take(other(), request);
        assertTrue(second.fencingToken() > first.fencingToken(), "The token of a permit is not greater");
        for (LockService locks : List.of(one(), other())) {
            assertTrue(tryAcquire(locks, request).isEmpty(), "Granted although no permit was left");
        }
        giveBack(first);
        LockHandle third = take(other(), request);
        assertTrue(tryAcquire(one(), request).isEmpty(), "A release made room for two");
        giveBack(second);
        giveBack(third);
        take(one(), request.permits(2));
    }

    @Test
    void whoWaitsForPermitsGetsThoseThatAnotherServiceReleases() throws Exception {
        SemaphoreRequest both = semaphore("wanted permits").permits(2);
        LockHandle held = take(one(), both);
        Future<Long> waiter =
                waitFor(() -> other().semaphore(both.waitAtMost(LONG)).acquire());
        awaitLongWait(held.name());
        giveBack(held);
        assertTrue(tokenOf(waiter) > held.fencingToken(), "The token of a waiter is not greater");
    }

    @Test
    void permitsComeBackAfterTheirLease() throws Exception {
        SemaphoreRequest both = semaphore("lease of permits").permits(2);
        LockHandle dead = take(one(), both.lease(SHORT));
        LockHandle next = keep(other().semaphore(both.waitAtMost(SOON)).acquire());
        assertEquals(LockState.LOST, dead.state(), "Granted while a holder believed in its permits");
        assertEquals(ReleaseOutcome.LOST, dead.release(), "A previous holder released the permits of the next one");
        assertTrue(tryAcquire(one(), semaphore("lease of permits")).isEmpty());
        giveBack(next);
    }

    @Test
    void sharesAndPermitsOfANodeThatIsCutOffComeBack() throws Exception {
        FaultyDataSource faults = database().faults();
        LockService cutOff = database().open(faults, builder -> builder.nodeLease(ofSeconds(2)));
        LockRequest lock = request("node of a share");
        SemaphoreRequest both = semaphore("node of permits").permits(2);
        LockHandle share = take(cutOff, lock.shared());
        LockHandle permits = take(cutOff, both);
        faults.down();
        LockHandle alone = await(other(), lock.waitAtMost(SOON));
        keep(other().semaphore(both.waitAtMost(SOON)).acquire());
        faults.up();
        assertEquals(LockState.LOST, share.state(), "Granted exclusively while a holder still relied on its share");
        assertEquals(LockState.LOST, permits.state(), "Granted while a holder believed in its permits");
        assertTrue(alone.fencingToken() > share.fencingToken(), "The token of a takeover is not greater");
    }
}
