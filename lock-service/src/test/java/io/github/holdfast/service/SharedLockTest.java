package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockHandles;
import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockMode;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockUpgradeException;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.semaphore.SemaphoreRequest;
import io.github.holdfast.task.TaskOutcome;
import io.github.holdfast.task.TaskRequest;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.TestDatabase;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReadWriteLock;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a shared lock promises to those who share it, and to those who want it alone. */
@OnEachDatabase
class SharedLockTest extends TwoServicesContract {

    private static final LockRequest ALONE = LockRequest.of("prices");
    private static final LockRequest SHARED = ALONE.shared();
    private static final LockRequest SHARED_BY_LEASE = SHARED.lease(ofMinutes(1));

    @AfterEach
    void empty() {
        try {
            await("no holders are left").atMost(SOON).until(() -> holders() == 0);
        } finally {
            database.execute("delete from lock_holder", "delete from distributed_lock");
        }
    }

    private static LockHandle tryAcquire(LockService service, LockRequest request) {
        return service.tryAcquire(request).orElseThrow();
    }

    private <T> Future<T> onAnotherThread(Callable<T> work) {
        return threads.submit(work);
    }

    private boolean isRefused(LockService service, LockRequest request) throws Exception {
        return get(onAnotherThread(() -> {
            Optional<LockHandle> acquired = service.tryAcquire(request);
            acquired.ifPresent(LockHandle::close);
            return acquired.isEmpty();
        }));
    }

    private void awaitWanted() {
        await().pollInterval(ofMillis(5))
                .atMost(SOON)
                .until(() -> database.queryForLong(
                                "select count(*) from distributed_lock where wanted_until is not null and hold_count = -1")
                        == 1);
    }

    // Sharing and excluding

    @Test
    void manyShareALockAndNobodyHasItAlone() throws Exception {
        LockHandle one = tryAcquire(mine, SHARED);
        LockHandle other = tryAcquire(theirs, SHARED_BY_LEASE);
        LockHandle third = get(onAnotherThread(() -> tryAcquire(mine, SHARED).detach()));
        assertThat(List.of(one, other, third)).allSatisfy(share -> {
            assertThat(share.mode()).isEqualTo(LockMode.SHARED);
            assertThat(share.state()).isEqualTo(LockState.HELD);
            assertThat(share.holdCount()).isEqualTo(1);
        });
        for (LockRequest request :
                List.of(ALONE, ALONE.lease(SOON), ALONE.owner("me"), ALONE.fair(), ALONE.rowLock())) {
            assertThat(isRefused(mine, request)).as(request.toString()).isTrue();
            assertThat(isRefused(theirs, request)).as(request.toString()).isTrue();
        }
        assertThat(List.of(one.release(), other.release())).containsOnly(ReleaseOutcome.RELEASED);
        assertThat(isRefused(theirs, ALONE)).isTrue();
        third.close();
        LockHandle alone = tryAcquire(theirs, ALONE);
        assertThat(alone.mode()).isEqualTo(LockMode.EXCLUSIVE);
        assertThat(isRefused(mine, SHARED)).isTrue();
        assertThat(isRefused(theirs, SHARED)).isTrue();
        alone.close();
        tryAcquire(mine, SHARED).close();
    }

    @Test
    void tokensGrowOverBothModes() {
        long last = 0;
        for (int round = 0; round < 3; round++) {
            for (LockRequest request : List.of(ALONE, SHARED, SHARED, ALONE, SHARED_BY_LEASE)) {
                LockHandle lock = tryAcquire(round % 2 == 0 ? mine : theirs, request);
                assertThat(lock.fencingToken()).isGreaterThan(last);
                last = lock.fencingToken();
                lock.close();
            }
        }
    }

    @Test
    void whoWantsItAloneGetsItWhenTheLastShareIsReleased() throws Exception {
        LockHandle one = tryAcquire(mine, SHARED);
        LockHandle other = tryAcquire(theirs, SHARED);
        Future<LockHandle> waiting = onAnotherThread(() -> theirs.acquire(ALONE.waitAtMost(SOON)));
        awaitWanted();
        other.close();
        assertThat(waiting).isNotDone();
        one.close();
        get(waiting).close();
    }

    @Test
    void whoWaitsKeepsNewSharesOutAndTheyComeAfterwards() throws Exception {
        LockHandle one = tryAcquire(mine, SHARED);
        Future<LockHandle> waiting = onAnotherThread(() -> theirs.acquire(ALONE.waitAtMost(SOON)));
        awaitWanted();
        await().atMost(SOON).until(() -> isRefused(mine, SHARED));
        assertThat(isRefused(theirs, SHARED)).isTrue();
        Future<LockHandle> late = onAnotherThread(() -> mine.acquire(SHARED.waitAtMost(SOON)));
        awaitWaiting(mine, 1);
        one.close();
        LockHandle alone = get(waiting);
        assertThat(late).isNotDone();
        alone.close();
        LockHandle share = get(late);
        assertThat(share.fencingToken()).isGreaterThan(alone.fencingToken());
        share.close();
    }

    @Test
    void whoGivesUpLetsNewSharesInAgain() throws Exception {
        LockHandle one = tryAcquire(mine, SHARED);
        Future<LockHandle> waiting = onAnotherThread(() -> theirs.acquire(ALONE.waitAtMost(ofSeconds(8))));
        awaitWanted();
        Future<LockHandle> late = onAnotherThread(() -> mine.acquire(SHARED.waitAtMost(SOON)));
        assertThatExceptionOfType(Exception.class)
                .isThrownBy(() -> get(waiting))
                .withCauseInstanceOf(LockNotAcquiredException.class)
                .withMessageContaining("holders share it");
        get(late).close();
        one.close();
    }

    @Test
    void aWaiterThatDiesKeepsSharesOutOnlyForSeconds() throws Exception {
        LockHandle one = tryAcquire(mine, SHARED);
        LockHandle seconds = tryAcquire(mine, LockRequest.of("seconds").shared().lease(ofSeconds(3)));
        database.execute("update distributed_lock set wanted_until = "
                + "(select expires_at from lock_holder where name = 'seconds') where name = 'prices'");
        theirs.acquire(SHARED.waitAtMost(SOON)).close();
        one.close();
        seconds.release();
    }

    // Re-entry

    @Test
    void aThreadThatSharesSharesAgainEvenIfSomebodyWaits() throws Exception {
        LockHandle outer = tryAcquire(mine, SHARED);
        Future<LockHandle> waiting = onAnotherThread(() -> theirs.acquire(ALONE.waitAtMost(SOON)));
        awaitWanted();
        LockHandle inner = tryAcquire(mine, SHARED);
        assertThat(inner.fencingToken()).isEqualTo(outer.fencingToken());
        assertThat(inner.holdCount()).isEqualTo(2);
        assertThat(outer.release()).isEqualTo(ReleaseOutcome.STILL_HELD);
        assertThat(waiting).isNotDone();
        assertThat(inner.release()).isEqualTo(ReleaseOutcome.RELEASED);
        get(waiting).close();
    }

    @Test
    void aThreadThatHasItAloneMayShareItToo() throws Exception {
        LockHandle alone = tryAcquire(mine, ALONE);
        LockHandle nested = tryAcquire(mine, SHARED);
        assertThat(nested.mode()).isEqualTo(LockMode.EXCLUSIVE);
        assertThat(nested.holdCount()).isEqualTo(2);
        assertThat(alone.release()).isEqualTo(ReleaseOutcome.STILL_HELD);
        assertThat(isRefused(theirs, SHARED)).isTrue();
        nested.close();
        tryAcquire(theirs, SHARED).close();
    }

    @Test
    void anUpgradeIsRefusedAtOnce() throws Exception {
        LockHandle share = tryAcquire(mine, SHARED);
        for (LockRequest request :
                List.of(ALONE, ALONE.lease(SOON), ALONE.notReentrant(), ALONE.owner("me"), ALONE.rowLock())) {
            assertThatExceptionOfType(LockUpgradeException.class)
                    .as(request.toString())
                    .isThrownBy(() -> mine.tryAcquire(request))
                    .withMessageContaining("shares lock 'prices'");
            assertThatExceptionOfType(LockUpgradeException.class).isThrownBy(() -> mine.acquire(request));
        }
        assertThat(share.state()).isEqualTo(LockState.HELD);
        tryAcquire(theirs, SHARED).close();
        share.close();
        tryAcquire(mine, ALONE).close();
    }

    @Test
    void whatIsNotReentrantIsHeldByItself() {
        LockHandle one = tryAcquire(mine, SHARED);
        LockHandle other = tryAcquire(mine, SHARED.notReentrant());
        LockHandle byLease = tryAcquire(mine, SHARED_BY_LEASE.notReentrant());
        assertThat(List.of(one.holdCount(), other.holdCount(), byLease.holdCount()))
                .containsOnly(1);
        assertThat(byLease.fencingToken()).isGreaterThan(one.fencingToken());
        assertThat(holders()).isEqualTo(2);
        one.close();
        byLease.close();
        assertThat(other.state()).isEqualTo(LockState.HELD);
        assertThat(holders()).isOne();
        other.close();
    }

    // Threads of one service

    @Test
    void threadsOfOneServiceShareOneGrant() throws Exception {
        List<LockHandle> shares = new ArrayList<>();
        for (int thread = 0; thread < 4; thread++) {
            shares.add(get(
                    onAnotherThread(() -> mine.acquire(SHARED.waitAtMost(SOON)).detach())));
        }
        LockHandle others = tryAcquire(theirs, SHARED);
        assertThat(holders()).isEqualTo(2);
        assertThat(shares)
                .extracting(LockHandle::fencingToken)
                .containsOnly(shares.get(0).fencingToken());
        Collections.shuffle(shares);
        for (LockHandle share : shares) {
            assertThat(share.state()).isEqualTo(LockState.HELD);
            assertThat(share.holdCount()).isEqualTo(1);
            assertThat(share.release()).isEqualTo(ReleaseOutcome.RELEASED);
        }
        assertThat(holders()).isOne();
        others.close();
        tryAcquire(mine, ALONE).close();
    }

    @Test
    void threadsThatJoinAgainAndAgainLetInWhoWantsItAlone() throws Exception {
        AtomicBoolean isOver = new AtomicBoolean();
        List<Future<?>> readers = new ArrayList<>();
        for (int thread = 0; thread < 4; thread++) {
            readers.add(threads.submit(() -> {
                while (!isOver.get()) {
                    try (LockHandle share = mine.acquire(SHARED.waitAtMost(SOON))) {
                        await().atMost(SOON).during(ofMillis(5)).until(() -> share.state() == LockState.HELD);
                    }
                }
                return null;
            }));
        }
        try {
            for (LockService service : List.of(theirs, mine, theirs, mine)) {
                LockHandle alone = get(onAnotherThread(() -> service.acquire(ALONE.waitAtMost(SOON))));
                assertThat(holders()).isZero();
                alone.close();
            }
        } finally {
            isOver.set(true);
            for (Future<?> reader : readers) {
                get(reader);
            }
        }
    }

    @Test
    void aThreadOfTheServiceThatWantsItAloneStopsTheOthersFromJoiningAtOnce() throws Exception {
        LockHandle share = tryAcquire(mine, SHARED);
        Future<LockHandle> waiting = onAnotherThread(() -> mine.acquire(ALONE.waitAtMost(SOON)));
        awaitWanted();
        assertThat(isRefused(mine, SHARED)).isTrue();
        share.close();
        get(waiting).close();
    }

    @Test
    void whoHasJoinedLosesTheShareWithItsRow() throws Exception {
        LockHandle first = tryAcquire(mine, SHARED);
        Queue<LockLost> losses = new ConcurrentLinkedQueue<>();
        LockHandle joined =
                get(onAnotherThread(() -> tryAcquire(mine, SHARED).detach().onLost(losses::add)));
        first.close();
        database.execute("delete from lock_holder", "update lock_node set version = version + 1");
        await().atMost(SOON).until(() -> joined.state() == LockState.LOST && losses.size() == 1);
        assertThat(joined.release()).isEqualTo(ReleaseOutcome.LOST);
        LockHandle next = tryAcquire(mine, SHARED);
        assertThat(next.fencingToken()).isGreaterThan(joined.fencingToken());
        next.close();
    }

    /** As a test suite does that empties a table. The rows of the holders still say that the lock is shared. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void nobodyHasItAloneBesideItsHoldersAfterItsRowWasDeleted(boolean isByLease) throws Exception {
        LockRequest request = isByLease ? SHARED_BY_LEASE : SHARED;
        LockHandle share = tryAcquire(mine, request);
        database.execute("delete from distributed_lock");
        assertThat(isRefused(theirs, ALONE)).isTrue();
        assertThat(isRefused(theirs, ALONE.rowLock())).isTrue();
        assertThat(theirs.find(ALONE.name())).isPresent();
        tryAcquire(theirs, request).close();
        books.inTransaction(em -> Ledger.noteOnly(em, share.fencingToken()));
        assertThat(share.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(isRefused(theirs, ALONE)).isFalse();
    }

    /** Before its reconciliation, which takes longer here than the test. */
    @Test
    void nobodyJoinsAShareWhoseRowIsGoneForMoreThanASecond() throws Exception {
        try (Bookkeeper rarelyReconciling =
                Bookkeeper.on(database.pool(pool -> {}), builder -> builder.nodeLease(ofMinutes(10)))) {
            LockService joining = rarelyReconciling.locks();
            LockHandle share = tryAcquire(joining, SHARED);
            database.execute("delete from lock_holder", "delete from distributed_lock");
            LockHandle theirShare = tryAcquire(theirs, SHARED);
            await().atMost(SOON)
                    .until(() -> get(onAnotherThread(() -> {
                        try (LockHandle next = tryAcquire(joining, SHARED)) {
                            return next.fencingToken() != share.fencingToken();
                        }
                    })));
            theirShare.close();
            assertThat(share.release()).isEqualTo(ReleaseOutcome.LOST);
        }
    }

    @Test
    void someRequestsCannotBeShared() {
        for (ThrowingCallable wrong : List.<ThrowingCallable>of(
                SHARED::rowLock,
                SHARED::fair,
                () -> SHARED.owner("me"),
                () -> SHARED.minimumHold(SOON),
                () -> ALONE.rowLock().shared(),
                () -> ALONE.fair().shared())) {
            assertThatIllegalArgumentException()
                    .isThrownBy(wrong)
                    .withMessageContaining("Shared lock 'prices' has several holders");
        }
        assertThat(SHARED.mode()).isEqualTo(LockMode.SHARED);
        assertThat(ALONE.mode()).isEqualTo(LockMode.EXCLUSIVE);
        assertThat(SHARED.toString()).contains("mode=SHARED");
    }

    // Other kinds

    @Test
    @SuppressWarnings("LockNotBeforeTry") // What each lock and unlock does is looked at step by step.
    void aReadWriteLockSharesAndExcludes() throws Exception {
        ReadWriteLock prices = mine.asReadWriteLock("prices");
        prices.readLock().lock();
        assertThat(isRefused(theirs, ALONE)).isTrue();
        tryAcquire(theirs, SHARED).close();
        assertThatExceptionOfType(LockUpgradeException.class)
                .isThrownBy(() -> prices.writeLock().tryLock());
        assertThatExceptionOfType(IllegalMonitorStateException.class)
                .isThrownBy(() -> prices.writeLock().unlock());
        prices.readLock().unlock();
        prices.writeLock().lock();
        prices.readLock().lock();
        prices.writeLock().unlock();
        assertThat(isRefused(theirs, ALONE)).isTrue();
        assertThat(isRefused(theirs, SHARED)).isFalse();
        prices.readLock().unlock();
        assertThat(isRefused(theirs, ALONE)).isFalse();
        assertThatExceptionOfType(IllegalMonitorStateException.class)
                .isThrownBy(() -> prices.readLock().unlock());
    }

    /** As with {@code ReentrantReadWriteLock}. */
    @Test
    @SuppressWarnings("LockNotBeforeTry")
    void theLastUnlockOfAWriteLockLeavesTheReadLocksOfItsThread() throws Exception {
        ReadWriteLock prices = mine.asReadWriteLock("prices");
        prices.readLock().lock();
        prices.readLock().unlock();
        prices.writeLock().lock();
        prices.writeLock().lock();
        prices.readLock().lock();
        prices.readLock().lock();
        prices.writeLock().unlock();
        assertThat(isRefused(theirs, SHARED)).as("one write lock is left").isTrue();
        prices.writeLock().unlock();
        assertThat(isRefused(theirs, SHARED)).isFalse();
        assertThat(isRefused(theirs, ALONE)).isTrue();
        assertThatExceptionOfType(LockUpgradeException.class)
                .isThrownBy(() -> prices.writeLock().tryLock());
        prices.readLock().unlock();
        assertThat(isRefused(theirs, ALONE)).as("one read lock is left").isTrue();
        prices.readLock().unlock();
        assertThat(isRefused(theirs, ALONE)).isFalse();
        prices.writeLock().lock();
        prices.writeLock().unlock();
        assertThat(isRefused(theirs, ALONE)).isFalse();
    }

    @Test
    @SuppressWarnings("LockNotBeforeTry")
    void aWriteLockThatCannotBeSharedYetStaysExclusiveUntilTheReadLockIsUnlocked() throws Exception {
        ReadWriteLock prices = mine.asReadWriteLock("prices");
        prices.writeLock().lock();
        LockHandle nested = tryAcquire(mine, ALONE);
        prices.readLock().lock();
        prices.writeLock().unlock();
        assertThat(isRefused(theirs, SHARED)).isTrue();
        nested.close();
        assertThat(isRefused(theirs, SHARED)).isTrue();
        prices.readLock().unlock();
        assertThat(isRefused(theirs, ALONE)).isFalse();
    }

    @Test
    void locksOfBothModesAreAcquiredTogether() throws Exception {
        LockRequest stock = LockRequest.of("stock");
        LockHandles both = mine.acquireAll(List.of(SHARED, stock));
        assertThat(both.handle("prices").orElseThrow().mode()).isEqualTo(LockMode.SHARED);
        assertThat(both.handle("stock").orElseThrow().mode()).isEqualTo(LockMode.EXCLUSIVE);
        tryAcquire(theirs, SHARED).close();
        assertThat(isRefused(theirs, stock)).isTrue();
        both.close();
    }

    @Test
    void rowLocksAndTasksComeAfterTheLastShare() throws Exception {
        tryAcquire(mine, SHARED).close();
        LockHandle row = tryAcquire(theirs, ALONE.rowLock());
        assertThat(isRefused(mine, SHARED)).isTrue();
        row.close();
        LockHandle share = tryAcquire(mine, SHARED);
        TaskRequest task = TaskRequest.of("prices").every(ofMinutes(60));
        assertThat(theirs.task(task).runIfDue(lock -> {})).isNotEqualTo(TaskOutcome.SUCCEEDED);
        share.close();
        assertThat(theirs.task(task).runIfDue(lock -> {})).isEqualTo(TaskOutcome.SUCCEEDED);
        database.execute("delete from lock_run");
    }

    @Test
    void aSemaphoreIsNoSharedLock() {
        mine.semaphore(SemaphoreRequest.of("prices").limit(2))
                .tryAcquire()
                .orElseThrow()
                .close();
        assertThatExceptionOfType(IllegalStateException.class)
                .isThrownBy(() -> theirs.tryAcquire(SHARED))
                .withMessageContaining("'prices' is the name of a semaphore");
        database.execute("delete from distributed_lock");
        tryAcquire(mine, SHARED).close();
        assertThatExceptionOfType(IllegalStateException.class)
                .isThrownBy(() ->
                        theirs.semaphore(SemaphoreRequest.of("prices").limit(2)).tryAcquire())
                .withMessageContaining("'prices' is the name of a lock");
    }

    @Test
    void theOldestShareIsFound() {
        assertThat(theirs.find("prices")).isEmpty();
        LockHandle one = tryAcquire(mine, SHARED);
        LockHandle other = tryAcquire(theirs, SHARED_BY_LEASE);
        assertThat(theirs.find("prices"))
                .hasValueSatisfying(found -> assertThat(found.fencingToken()).isEqualTo(one.fencingToken()));
        one.close();
        assertThat(theirs.find("prices"))
                .hasValueSatisfying(found -> assertThat(found.owner()).isEqualTo(other.owner()));
        other.close();
        assertThat(theirs.find("prices")).isEmpty();
    }

    // Ends

    @Test
    void aDeadShareEndsWithItsOwnLeaseAlthoughOthersLive() throws Exception {
        LockHandle alive = tryAcquire(mine, SHARED_BY_LEASE);
        LockHandle brief = tryAcquire(mine, SHARED.notReentrant().lease(ofSeconds(3)));
        Future<LockHandle> waiting = onAnotherThread(() -> theirs.acquire(ALONE.waitAtMost(SOON)));
        awaitWanted();
        await().atMost(SOON).until(() -> brief.state() == LockState.LOST);
        assertThat(waiting).isNotDone();
        assertThat(alive.state()).isEqualTo(LockState.HELD);
        alive.close();
        get(waiting).close();
        assertThat(brief.release()).isEqualTo(ReleaseOutcome.LOST);
    }

    @Test
    void aShareIsRenewed() {
        LockHandle share = tryAcquire(mine, SHARED.lease(ofSeconds(20)));
        share.renew(ofMinutes(5));
        assertThat(share.remaining()).isGreaterThan(ofMinutes(4));
        share.close();
    }

    @Test
    void sharesEndWithTheirNode() throws Exception {
        LockHandle share = tryAcquire(mine, SHARED);
        endNodesOfHolders();
        LockHandle alone = theirs.acquire(ALONE.lease(ofMinutes(1)).waitAtMost(SOON));
        await().atMost(SOON).until(() -> share.state() == LockState.LOST);
        assertThat(share.release()).isEqualTo(ReleaseOutcome.LOST);
        alone.close();
    }

    @Test
    void theSharesOfAnOverdueNodeEndToo() throws Exception {
        LockHandle share = tryAcquire(mine, SHARED);
        database.execute("update lock_holder set node_id = 'dead'");
        database.execute("insert into lock_node (id, started_at, expires_at, ended, version)"
                + " select 'dead', started_at, started_at, ended, 0 from lock_node"
                + " where id = (select min(id) from lock_node where ended = false)");
        get(onAnotherThread(() -> theirs.acquire(ALONE.waitAtMost(SOON)))).close();
        assertThat(database.queryForLong("select count(*) from lock_node where id = 'dead' and ended = true"))
                .isEqualTo(1);
        share.release();
        database.execute("delete from lock_node where id = 'dead'");
    }

    @Test
    void theLockOfADeadHolderIsShared() throws Exception {
        LockHandle dead = tryAcquire(mine, ALONE.lease(ofSeconds(3)));
        LockHandle share = theirs.acquire(SHARED.waitAtMost(SOON));
        assertThat(share.fencingToken()).isGreaterThan(dead.fencingToken());
        assertThat(dead.release()).isEqualTo(ReleaseOutcome.LOST);
        share.close();
    }

    @Test
    void closeGivesSharesBack() throws Exception {
        try (Bookkeeper closing = Bookkeeper.on(database.pool(pool -> {}), builder -> builder)) {
            LockHandle one = tryAcquire(closing.locks(), SHARED);
            LockHandle other = tryAcquire(closing.locks(), SHARED_BY_LEASE.notReentrant());
            closing.locks().close();
            assertThat(List.of(one.state(), other.state())).containsOnly(LockState.LOST);
        }
        theirs.acquire(ALONE.waitAtMost(SOON)).close();
    }

    @Test
    void whatNobodySharesAnyMoreIsPurgedLater() throws Exception {
        tryAcquire(mine, SHARED).close();
        LockHandle held = tryAcquire(mine, SHARED.lease(ofMinutes(1)));
        database.execute("update distributed_lock set acquired_at = timestamp '2020-01-01 00:00:00'");
        assertThat(theirs.admin().housekeep().locksPurged()).isZero();
        assertThat(count("prices")).as("while it is shared").isEqualTo(1);
        held.close();
        assertThat(theirs.admin().housekeep().locksPurged()).isEqualTo(1);
        assertThat(count("prices")).isZero();
    }

    private long count(String name) {
        return database.queryForLong("select count(*) from distributed_lock where name = '" + name + "'");
    }

    // Transactions

    @Test
    void whoeverWritesComesAfterTheCommitOfThoseWhoRead() throws Exception {
        LockHandle share = tryAcquire(mine, SHARED.lease(ofSeconds(10)));
        CountDownLatch isChecked = new CountDownLatch(1);
        Future<LockHandle> writer = onAnotherThread(() -> {
            assertThat(isChecked.await(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
            return theirs.acquire(ALONE.waitAtMost(SOON));
        });
        books.inTransaction(em -> {
            share.guard();
            isChecked.countDown();
            await().atMost(SOON).until(() -> share.state() == LockState.LOST);
            await().during(ofMillis(300)).atMost(SOON).until(() -> !writer.isDone());
        });
        get(writer).close();
        share.release();
    }

    /** On PostgreSQL, the transactions that lock a row are the members of a MultiXact. */
    @Test
    void threadsJoinAShareAsLongAsTheirTransactionsMayLockItsRow() throws Exception {
        int threadsThatRead = 8;
        int atOneRow = database.kind() == TestDatabase.POSTGRESQL ? 4 : threadsThatRead;
        CountDownLatch areAcquired = new CountDownLatch(threadsThatRead);
        CountDownLatch areGuarded = new CountDownLatch(database.kind() == TestDatabase.H2_MEMORY ? 1 : threadsThatRead);
        CountDownLatch areCounted = new CountDownLatch(1);
        List<Future<?>> readers = new ArrayList<>();
        for (int reader = 0; reader < threadsThatRead; reader++) {
            readers.add(onAnotherThread(() -> {
                try (LockHandle share = mine.acquire(SHARED.waitAtMost(SOON))) {
                    areAcquired.countDown();
                    awaitAll(areAcquired);
                    books.inTransaction(em -> {
                        share.guard();
                        areGuarded.countDown();
                        awaitAll(areCounted);
                    });
                }
                return null;
            }));
        }
        awaitAll(areGuarded);
        if (database.kind() == TestDatabase.POSTGRESQL) {
            assertThat(database.queryForLong(
                            "select max((select count(*) from pg_get_multixact_members(xmax))) from lock_holder"))
                    .isEqualTo(atOneRow);
        }
        LockHandle unfenced = get(
                onAnotherThread(() -> tryAcquire(mine, SHARED.withoutFence()).detach()));
        assertThat(holders()).isEqualTo(threadsThatRead / atOneRow);
        unfenced.close();
        areCounted.countDown();
        for (Future<?> reader : readers) {
            get(reader);
        }
    }

    private static void awaitAll(CountDownLatch latch) {
        await().pollInterval(ofMillis(5)).atMost(SOON).until(() -> latch.getCount() == 0);
    }

    @Test
    void aTransactionUnderALostShareDoesNotCommit() {
        LockHandle share = tryAcquire(mine, SHARED_BY_LEASE);
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> books.inTransaction(em -> {
                    Ledger.post(em, share.fencingToken(), () -> {});
                    database.execute("delete from lock_holder");
                }));
        assertThat(ledger.faults(0)).isEmpty();
        assertThat(share.release()).isEqualTo(ReleaseOutcome.LOST);
    }

    @Test
    void theReleaseWaitsForTheEndOfTheTransaction() throws Exception {
        books.inTransaction(em -> {
            LockHandle share = tryAcquire(mine, SHARED);
            assertThat(share.isFenced()).isTrue();
            Ledger.post(em, share.fencingToken(), () -> {});
            assertThat(share.release()).isEqualTo(ReleaseOutcome.DEFERRED);
            assertThat(holders()).isEqualTo(1);
            LockHandle again = tryAcquire(mine, SHARED);
            assertThat(again.fencingToken()).isEqualTo(share.fencingToken());
            assertThat(again.release()).isEqualTo(ReleaseOutcome.DEFERRED);
            assertThatExceptionOfType(LockUpgradeException.class).isThrownBy(() -> mine.tryAcquire(ALONE));
        });
        await().atMost(SOON).until(() -> holders() == 0);
        assertThat(ledger.faults(1)).isEmpty();
    }

    /** Its release may still be under way, on another thread. */
    @Test
    void afterTheTransactionTheThreadMayHaveItAlone() throws Exception {
        for (int round = 0; round < 5; round++) {
            books.inTransaction(
                    em -> assertThat(tryAcquire(mine, SHARED).release()).isEqualTo(ReleaseOutcome.DEFERRED));
            mine.acquire(ALONE.waitAtMost(SOON)).close();
        }
    }

    @Test
    void aTransactionThatHasReadMayShareWhatOthersHaveShared() {
        tryAcquire(theirs, SHARED).close();
        for (LockRequest request : List.of(SHARED, SHARED, ALONE, SHARED, ALONE)) {
            books.inTransaction(em -> {
                assertThat(em.createQuery("select l from HoldfastLock l", LockEntity.class)
                                .getResultList())
                        .isNotEmpty();
                tryAcquire(mine, request).close();
            });
            await().atMost(SOON).until(() -> mine.find("prices").isEmpty());
        }
    }
}
