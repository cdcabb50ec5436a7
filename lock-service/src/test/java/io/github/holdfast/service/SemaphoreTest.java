package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.semaphore.SemaphoreRequest;
import io.github.holdfast.test.OnEachDatabase;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a semaphore promises to the holders of its permits, and to those who want some. */
@OnEachDatabase
class SemaphoreTest extends TwoServicesContract {

    private static final SemaphoreRequest REQUEST =
            SemaphoreRequest.of("exports").limit(2).waitAtMost(SOON);
    private static final SemaphoreRequest WITH_LEASE = REQUEST.lease(ofMinutes(1));

    @AfterEach
    void empty() {
        long left = holders();
        database.execute("delete from lock_holder", "delete from distributed_lock");
        assertThat(left).as("holders that are left").isZero();
    }

    private static LockHandle acquire(LockService service, SemaphoreRequest request) throws Exception {
        return service.semaphore(request).acquire();
    }

    private static Optional<LockHandle> tryAcquire(LockService service, SemaphoreRequest request) {
        return service.semaphore(request).tryAcquire();
    }

    private Future<LockHandle> acquiring(LockService service, SemaphoreRequest request) {
        return threads.submit(() -> acquire(service, request));
    }

    // Limits

    @Test
    void noMorePermitsAreHeldThanTheLimitSays() throws Exception {
        LockHandle one = acquire(mine, REQUEST);
        LockHandle other = acquire(theirs, WITH_LEASE);
        assertThat(tryAcquire(mine, REQUEST)).isEmpty();
        assertThat(tryAcquire(theirs, WITH_LEASE)).isEmpty();
        assertThat(one.release()).isEqualTo(ReleaseOutcome.RELEASED);
        LockHandle next = tryAcquire(theirs, REQUEST).orElseThrow();
        assertThat(tryAcquire(mine, REQUEST)).isEmpty();
        next.close();
        other.close();
    }

    @Test
    void severalPermitsAreAcquiredTogetherOrNotAtAll() throws Exception {
        SemaphoreRequest two = REQUEST.permits(2);
        LockHandle one = acquire(mine, REQUEST);
        assertThat(tryAcquire(theirs, two)).isEmpty();
        assertThat(holders()).isEqualTo(1);
        one.close();
        LockHandle both = tryAcquire(theirs, two).orElseThrow();
        assertThat(tryAcquire(mine, REQUEST)).isEmpty();
        both.close();
        acquire(mine, REQUEST).close();
    }

    @Test
    void theStoredLimitCounts() throws Exception {
        acquire(mine, REQUEST.limit(1)).close();
        LockHandle only = acquire(theirs, REQUEST.limit(5));
        assertThat(tryAcquire(mine, REQUEST.limit(5))).isEmpty();
        only.close();
    }

    /** As the page about operations says. */
    @Test
    void theLimitCanBeChangedWhileOthersWait() throws Exception {
        LockHandle both = acquire(mine, REQUEST.permits(2));
        Future<LockHandle> third = acquiring(theirs, REQUEST);
        awaitWaiting(theirs, 1);
        database.execute("update distributed_lock set permits = 3, version = version + 1 where name = 'exports'"
                + " and permits is not null");
        LockHandle granted = get(third);
        database.execute("update distributed_lock set permits = 0, version = version + 1 where name = 'exports'"
                + " and permits is not null");
        assertThat(List.of(both.state(), granted.state())).containsOnly(LockState.HELD);
        both.close();
        granted.close();
        assertThat(tryAcquire(mine, REQUEST)).isEmpty();
    }

    /** Until somebody raises the limit, it could only delay those that want less. */
    @Test
    void aRequestForMoreThanTheStoredLimitIsRefusedAtOnce() throws Exception {
        acquire(mine, REQUEST).close();
        SemaphoreRequest tooMany = REQUEST.limit(5).permits(3);
        assertThat(tryAcquire(theirs, tooMany)).isEmpty();
        Future<LockHandle> patient = acquiring(theirs, tooMany.waitForever());
        assertThatExceptionOfType(ExecutionException.class)
                .isThrownBy(() -> get(patient))
                .withCauseInstanceOf(LockNotAcquiredException.class)
                .withMessageContaining("the request asks for 3 permits, and the semaphore has 2");
    }

    @Test
    void aRequestNeedsALimitThatIsLargeEnough() {
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> mine.semaphore(SemaphoreRequest.of("exports")))
                .withMessageContaining("'exports' needs a limit");
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> mine.semaphore(REQUEST.permits(3)))
                .withMessageContaining("has 2 permits, so no owner can acquire 3");
        assertThatExceptionOfType(IllegalArgumentException.class).isThrownBy(() -> REQUEST.limit(0));
        assertThatExceptionOfType(IllegalArgumentException.class).isThrownBy(() -> REQUEST.permits(0));
    }

    @Test
    void aThreadMayHaveSeveralPermits() throws Exception {
        LockHandle one = acquire(mine, REQUEST);
        LockHandle other = acquire(mine, REQUEST);
        assertThat(other.fencingToken()).isGreaterThan(one.fencingToken());
        assertThat(other.owner()).isNotEqualTo(one.owner());
        assertThat(List.of(one.holdCount(), other.holdCount())).containsExactly(1, 1);
        one.close();
        assertThat(other.state()).isEqualTo(LockState.HELD);
        assertThat(one.state()).isEqualTo(LockState.RELEASED);
        other.close();
    }

    // Names

    @Test
    void aNameIsALockOrASemaphore() throws Exception {
        acquire(mine, REQUEST).close();
        LockRequest lock = LockRequest.of("exports");
        for (LockRequest request : List.of(lock, lock.lease(SOON), lock.owner("me"), lock.fair(), lock.rowLock())) {
            assertThatExceptionOfType(IllegalStateException.class)
                    .as(request.toString())
                    .isThrownBy(() -> theirs.tryAcquire(request))
                    .withMessageContaining("'exports' is the name of a semaphore with 2 permits");
        }
        assertThat(theirs.find("exports")).isEmpty();
        theirs.acquire(LockRequest.of("imports")).close();
        assertThatExceptionOfType(IllegalStateException.class)
                .isThrownBy(
                        () -> tryAcquire(mine, SemaphoreRequest.of("imports").limit(2)))
                .withMessageContaining("'imports' is the name of a lock");
    }

    // Waiting

    @Test
    void whoWaitsGetsAPermitThatIsReleased() throws Exception {
        LockHandle both = acquire(mine, REQUEST.permits(2));
        Future<LockHandle> one = acquiring(mine, REQUEST);
        Future<LockHandle> other = acquiring(theirs, REQUEST);
        awaitWaiting(mine, 1);
        awaitWaiting(theirs, 1);
        both.close();
        get(one).close();
        get(other).close();
    }

    @Test
    void whoWaitsInVainIsToldHowManyPermitsAreInUse() throws Exception {
        LockHandle both = acquire(mine, REQUEST.permits(2));
        assertThatExceptionOfType(LockNotAcquiredException.class)
                .isThrownBy(() -> acquire(theirs, REQUEST.waitAtMost(ofMillis(100))))
                .withMessageContaining("2 of its 2 permits are in use");
        both.close();
    }

    @Test
    void aWaitCanBeInterrupted() throws Exception {
        LockHandle both = acquire(mine, REQUEST.permits(2));
        CountDownLatch ended = new CountDownLatch(1);
        Thread waiter = new Thread(() -> {
            assertThatExceptionOfType(InterruptedException.class).isThrownBy(() -> acquire(theirs, REQUEST));
            ended.countDown();
        });
        waiter.start();
        awaitWaiting(theirs, 1);
        waiter.interrupt();
        assertThat(ended.await(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
        both.close();
    }

    @Test
    void twoThatWantAllPermitsDoNotWaitForEachOther() throws Exception {
        SemaphoreRequest all = REQUEST.permits(2);
        for (int round = 0; round < 10; round++) {
            Future<LockHandle> one = threads.submit(() -> {
                LockHandle permits = acquire(mine, all);
                permits.close();
                return permits;
            });
            acquire(theirs, all).close();
            get(one);
        }
    }

    // The end of a hold

    @Test
    void permitsEndWithTheirLease() throws Exception {
        LockHandle brief = acquire(mine, REQUEST.lease(ofSeconds(2)));
        List<LockLost> losses = new CopyOnWriteArrayList<>();
        brief.onLost(losses::add);
        LockHandle other = acquire(mine, REQUEST);
        LockHandle next = acquire(theirs, REQUEST);
        assertThat(brief.state()).isEqualTo(LockState.LOST);
        assertThat(next.fencingToken()).isGreaterThan(other.fencingToken());
        await().atMost(SOON).until(() -> losses.size() == 1);
        assertThat(brief.release()).isEqualTo(ReleaseOutcome.LOST);
        assertThat(other.state()).isEqualTo(LockState.HELD);
        other.close();
        next.close();
    }

    @Test
    void aRenewalKeepsThePermits() throws Exception {
        LockHandle renewed = acquire(mine, REQUEST.lease(ofSeconds(20)));
        renewed.renew(ofMinutes(5));
        assertThat(renewed.remaining()).isGreaterThan(ofMinutes(4));
        renewed.renew(ofSeconds(1));
        assertThat(renewed.remaining()).isGreaterThan(ofMinutes(4));
        renewed.ensureValidFor(ofMinutes(6));
        assertThat(renewed.remaining()).isGreaterThan(ofMinutes(5));
        assertThat(renewed.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    @Test
    void aLostGrantCannotBeRenewed() throws Exception {
        LockHandle lost = acquire(mine, WITH_LEASE);
        database.execute("delete from lock_holder");
        assertThatExceptionOfType(LockLostException.class).isThrownBy(() -> lost.renew(ofMinutes(5)));
        assertThat(lost.state()).isEqualTo(LockState.LOST);
        assertThat(lost.release()).isEqualTo(ReleaseOutcome.LOST);
    }

    @Test
    void permitsEndWithTheirNode() throws Exception {
        LockHandle both = acquire(mine, REQUEST.permits(2));
        endNodesOfHolders();
        LockHandle next = acquire(theirs, REQUEST.permits(2));
        await().atMost(SOON).until(() -> both.state() == LockState.LOST);
        assertThat(both.release()).isEqualTo(ReleaseOutcome.LOST);
        next.close();
    }

    @Test
    void aNodeWhoseLeaseIsOverLosesItsPermits() throws Exception {
        LockHandle both = acquire(mine, REQUEST.permits(2));
        database.execute("update lock_holder set node_id = 'dead'");
        database.execute("insert into lock_node (id, started_at, expires_at, ended, version)"
                + " select 'dead', started_at, started_at, ended, 0 from lock_node"
                + " where id = (select min(id) from lock_node where ended = false)");
        acquire(theirs, REQUEST).close();
        assertThat(database.queryForLong("select count(*) from lock_node where id = 'dead' and ended = true"))
                .isEqualTo(1);
        both.release();
    }

    @Test
    void closeGivesPermitsBack() throws Exception {
        try (Bookkeeper closing = Bookkeeper.on(database.pool(pool -> {}), builder -> builder)) {
            LockHandle one = acquire(closing.locks(), REQUEST);
            LockHandle other = acquire(closing.locks(), WITH_LEASE);
            closing.locks().close();
            assertThat(List.of(one.state(), other.state())).containsOnly(LockState.LOST);
        }
        acquire(mine, REQUEST.permits(2)).close();
    }

    /** At each sixth beat, the node compares its rows with its holds. */
    @Test
    void permitsThatTheNodeHoldsForNobodyComeBackAndThoseThatAreGoneAreLost() throws Exception {
        LockHandle kept = acquire(mine, REQUEST);
        LockHandle gone = acquire(mine, REQUEST);
        database.execute("update lock_holder set owner = 'nobody' where owner = '" + gone.owner() + "'");
        await().atMost(SOON).until(() -> holders() == 1 && gone.state() == LockState.LOST);
        assertThat(gone.release()).isEqualTo(ReleaseOutcome.LOST);
        assertThat(kept.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    @Test
    void housekeepingGivesBackThePermitsOfDeadHolders() throws Exception {
        LockHandle alive = acquire(mine, REQUEST.limit(4));
        LockHandle lease = acquire(mine, WITH_LEASE);
        LockHandle brief = acquire(mine, REQUEST.lease(ofSeconds(2)));
        LockHandle left = acquire(mine, REQUEST.lease(ofMinutes(1)));
        database.execute(
                "update lock_holder set node_id = 'absent', expires_at = null where owner = '" + left.owner() + "'");
        await().atMost(SOON).until(() -> brief.state() == LockState.LOST);
        await().pollInSameThread().atMost(SOON).until(() -> {
            var unused = theirs.admin().housekeep();
            return holders() == 2;
        });
        assertThat(List.of(brief.release(), left.release())).containsOnly(ReleaseOutcome.LOST);
        assertThat(List.of(alive.release(), lease.release())).containsOnly(ReleaseOutcome.RELEASED);
    }

    // Transactions

    @Test
    void aReleaseWaitsForTheEndOfTheTransaction() throws Exception {
        books.inTransaction(em -> {
            LockHandle permit = tryAcquire(mine, REQUEST).orElseThrow();
            assertThat(permit.isFenced()).isTrue();
            Ledger.post(em, permit.fencingToken(), () -> {});
            assertThat(permit.release()).isEqualTo(ReleaseOutcome.DEFERRED);
            assertThat(holders()).isEqualTo(1);
        });
        await().atMost(SOON).until(() -> holders() == 0);
        assertThat(ledger.faults(1)).isEmpty();
    }

    @Test
    void aLoopInATransactionNeverWaitsForItsOwnPermits() throws Exception {
        SemaphoreRequest both = REQUEST.permits(2);
        books.inTransaction(em -> {
            long token = tryAcquire(mine, both).map(SemaphoreTest::released).orElseThrow();
            for (SemaphoreRequest again : List.of(both, both.lease(ofMinutes(1)), both)) {
                assertThat(tryAcquire(mine, again).map(SemaphoreTest::released)).contains(token);
            }
            assertThat(tryAcquire(mine, REQUEST))
                    .as("another number of permits")
                    .isEmpty();
            assertThat(tryAcquire(theirs, REQUEST)).isEmpty();
        });
        await().atMost(SOON).until(() -> holders() == 0);
    }

    private static long released(LockHandle permits) {
        assertThat(permits.release()).isEqualTo(ReleaseOutcome.DEFERRED);
        return permits.fencingToken();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void noneOfAThousandTransactionsInARowIsRefused(int threadCount) throws Exception {
        SemaphoreRequest only = REQUEST.limit(1);
        for (int round = 0; round < 1000; round++) {
            acquireAndRelease(only);
            if (threadCount > 1) {
                threads.submit(() -> acquireAndRelease(only)).get(SOON.toSeconds(), TimeUnit.SECONDS);
            }
        }
        await().atMost(SOON).until(() -> holders() == 0);
    }

    private void acquireAndRelease(SemaphoreRequest request) {
        books.inTransaction(em -> assertThat(tryAcquire(mine, request)).hasValueSatisfying(SemaphoreTest::released));
    }

    @Test
    void aTransactionUnderLostPermitsDoesNotCommit() throws Exception {
        LockHandle permit = acquire(mine, WITH_LEASE);
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> books.inTransaction(em -> {
                    Ledger.post(em, permit.fencingToken(), () -> {});
                    database.execute("delete from lock_holder");
                }));
        assertThat(ledger.faults(0)).isEmpty();
        assertThat(permit.release()).isEqualTo(ReleaseOutcome.LOST);
    }

    @Test
    void othersGetThePermitsOnlyAfterTheCommit() throws Exception {
        LockHandle both = acquire(mine, REQUEST.permits(2).lease(ofSeconds(10)));
        CountDownLatch isChecked = new CountDownLatch(1);
        Future<LockHandle> next = threads.submit(() -> {
            assertThat(isChecked.await(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
            return acquire(theirs, REQUEST);
        });
        books.inTransaction(em -> {
            both.guard();
            isChecked.countDown();
            await().atMost(SOON).until(() -> both.state() == LockState.LOST);
            await().during(ofMillis(300)).atMost(SOON).until(() -> !next.isDone());
        });
        get(next).close();
        both.release();
    }
}
