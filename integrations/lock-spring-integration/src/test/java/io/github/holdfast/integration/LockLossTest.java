package io.github.holdfast.integration;

import static io.github.holdfast.integration.Worker.LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.Objects;
import java.util.concurrent.Future;
import java.util.concurrent.Phaser;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.dao.CannotAcquireLockException;
import org.springframework.dao.DataAccessResourceFailureException;
import org.springframework.integration.support.locks.DistributedLock;

/** Times to live and their renewal, lost locks, transactions, and a database that fails. */
@OnEachDatabase
@SuppressWarnings("LockNotBeforeTry") // what a test has locked ends with the test
@TestInstance(Lifecycle.PER_CLASS)
class LockLossTest {

    /** Ends within the test. */
    private static final Duration SHORT = Duration.ofSeconds(2);

    /** A machine that stands still for some seconds does not end it. */
    private static final Duration NODE_LEASE = Duration.ofSeconds(8);

    private Database database;
    private Node node;
    private Node other;
    private Worker worker;
    private String key;

    @BeforeAll
    void start(Database onDatabase) {
        database = onDatabase;
        database.execute("create table work_done (task varchar(100) not null)");
        node = Node.on(database);
        other = Node.on(database, settings -> settings.nodeLease(NODE_LEASE));
    }

    @AfterAll
    void stop() {
        node.close();
        other.close();
    }

    @BeforeEach
    void prepare(TestInfo test) throws Exception {
        worker = new Worker();
        key = test.getTestMethod().orElseThrow().getName();
    }

    @AfterEach
    void endThread() {
        worker.close();
    }

    private String name() {
        return "DEFAULT:" + key;
    }

    private DistributedLock lockedFor(Duration ttl) throws InterruptedException {
        DistributedLock lock = node.lock(key);
        assertThat(lock.tryLock(Duration.ofSeconds(60), ttl)).isTrue();
        return lock;
    }

    private void awaitEnd() {
        await().atMost(LONG).until(() -> other.locks().find(name()).isEmpty());
    }

    private void otherNodeGetsTheLock() {
        await().atMost(LONG).until(() -> worker.tryLock(other.lock(key)));
    }

    private void otherNodeUnlocks() throws Exception {
        worker.unlock(other.lock(key));
    }

    private static void assertThatUnlockReportsTheLoss(DistributedLock lock) {
        assertThatThrownBy(lock::unlock)
                .isInstanceOf(ConcurrentModificationException.class)
                .hasCauseInstanceOf(LockLostException.class);
    }

    private Duration left() {
        return other.locks().find(name()).orElseThrow().expiresIn();
    }

    @Test
    void whoUnlocksALockThatAnotherHasTakenLearnsOfIt() throws Exception {
        DistributedLock lock = lockedFor(SHORT);
        otherNodeGetsTheLock();
        assertThatUnlockReportsTheLoss(lock);
        assertThat(lock.tryLock()).isFalse();
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
        otherNodeUnlocks();
        assertThat(lock.tryLock()).isTrue();
        lock.unlock();
    }

    @Test
    void anEndedLeaseIsALossEvenIfNobodyTakesTheLock() throws Exception {
        DistributedLock lock = lockedFor(SHORT);
        awaitEnd();
        assertThatUnlockReportsTheLoss(lock);
        assertThat(lock.tryLock()).isTrue();
        lock.unlock();
    }

    @ParameterizedTest
    @EnumSource
    void aLostLockIsNotReenteredButLockedAgainAfterItsUnlock(Way way) throws Exception {
        DistributedLock lock = lockedFor(SHORT);
        awaitEnd();
        assertThatThrownBy(() -> way.lock(lock))
                .isInstanceOf(CannotAcquireLockException.class)
                .hasCauseInstanceOf(LockLostException.class)
                .hasMessageContaining(name());
        assertThatUnlockReportsTheLoss(lock);
        assertThat(way.lock(lock)).isTrue();
        lock.unlock();
    }

    @Test
    void aThreadThatHangsKeepsNoOtherThreadOfItsNodeWaitingAfterItsTimeToLive() throws Exception {
        DistributedLock lock = lockedFor(SHORT);
        assertThat(worker.call(() -> {
                    lock.lock();
                    lock.unlock();
                    return true;
                }))
                .isTrue();
        assertThatUnlockReportsTheLoss(lock);
    }

    @Test
    void aForcedReleaseIsALoss() {
        DistributedLock lock = node.lock(key);
        lock.lock();
        assertThat(other.locks().admin().forceRelease(name(), "test")).isPresent();
        assertThatUnlockReportsTheLoss(lock);
    }

    @Test
    void theLocksOfAClosedServiceAreFree() throws Exception {
        Node closed = Node.on(database);
        DistributedLock lock = closed.lock(key);
        lock.lock();
        closed.close();
        assertThat(worker.tryLock(other.lock(key))).isTrue();
        assertThatUnlockReportsTheLoss(lock);
        assertThatThrownBy(lock::lock).isInstanceOf(IllegalStateException.class);
        otherNodeUnlocks();
    }

    @Test
    void renewalsKeepALease() throws Exception {
        Duration ttl = Duration.ofSeconds(8);
        DistributedLock lock = lockedFor(ttl);
        Future<Boolean> waiting = worker.start(() -> {
            other.lock(key).lock();
            return true;
        });
        await().pollInSameThread()
                .pollInterval(Duration.ofMillis(100))
                .during(ttl.plusSeconds(1))
                .atMost(LONG)
                .until(() -> {
                    node.registry().renewLock(key);
                    return !waiting.isDone();
                });
        lock.unlock();
        assertThat(Worker.result(waiting)).isTrue();
        otherNodeUnlocks();
    }

    @Test
    void aRenewalCanBeLongerButNeverShortensALease() throws Exception {
        DistributedLock lock = lockedFor(Duration.ofMinutes(1));
        node.registry().renewLock(key, Duration.ofMinutes(5));
        assertThat(left()).isBetween(Duration.ofMinutes(4), Duration.ofMinutes(5));
        node.registry().renewLock(key, SHORT);
        node.registry().renewLock(key);
        assertThat(left()).isGreaterThan(Duration.ofMinutes(4));
        assertThat(lock.tryLock(Duration.ZERO, Duration.ofMinutes(9)))
                .as("nested")
                .isTrue();
        assertThat(left()).isGreaterThan(Duration.ofMinutes(8));
        lock.unlock();
        lock.unlock();
    }

    @Test
    void withoutATimeToLiveNothingHasToRenewALock() throws Exception {
        DistributedLock held = other.lock(key);
        worker.lock(held);
        // Longer than the lease of the node.
        await().during(NODE_LEASE.plusSeconds(1))
                .atMost(LONG)
                .until(() -> !node.lock(key).tryLock());
        worker.call(() -> {
            other.registry().renewLock(key);
            other.registry().renewLock(key, Way.TTL);
            held.unlock();
            return true;
        });
        assertThat(node.lock(key).tryLock()).isTrue();
        node.lock(key).unlock();
    }

    @Test
    void onlyTheHolderRenewsALock() throws Exception {
        assertThatThrownBy(() -> node.registry().renewLock(key)).isInstanceOf(IllegalMonitorStateException.class);
        DistributedLock lock = lockedFor(SHORT);
        assertThatThrownBy(() -> worker.call(() -> {
                    node.registry().renewLock(key, Way.TTL);
                    return true;
                }))
                .isInstanceOf(IllegalMonitorStateException.class);
        awaitEnd();
        assertThatThrownBy(() -> node.registry().renewLock(key))
                .isInstanceOf(IllegalStateException.class)
                .hasCauseInstanceOf(LockLostException.class);
        assertThatUnlockReportsTheLoss(lock);
    }

    @Test
    void aLockThatIsUnlockedInATransactionIsFreeWhenItHasEnded() throws Exception {
        DistributedLock lock = node.lock(key);
        node.transaction().executeWithoutResult(status -> {
            lock.lock();
            node.sql().update("insert into work_done values (?)", key);
            lock.unlock();
            assertThatCode(() -> assertThat(worker.tryLock(other.lock(key))).isFalse())
                    .doesNotThrowAnyException();
        });
        assertThat(worker.call(() -> {
                    other.lock(key).lock();
                    return countOfWork();
                }))
                .isEqualTo(1);
        otherNodeUnlocks();
    }

    @ParameterizedTest
    @EnumSource
    void aThreadLocksAgainInTheTransactionInWhichItHasUnlocked(Way way) {
        key += way;
        DistributedLock lock = node.lock(key);
        node.transaction().executeWithoutResult(status -> {
            for (int round = 0; round < 3; round++) {
                assertThatCode(() -> assertThat(way.lock(lock)).isTrue()).doesNotThrowAnyException();
                lock.unlock();
            }
            node.sql().update("insert into work_done values (?)", key);
        });
        assertThat(countOfWork()).isEqualTo(1);
    }

    /** With JdbcLockRegistry they do not. The page on the migration warns of this. */
    @Test
    void transactionsThatUseTwoLocksInDifferentOrdersWaitForEachOther() throws Exception {
        Phaser both = new Phaser(2);
        Future<Boolean> isOneFree = worker.start(() -> isFreeAfterUse("two", "one", both));
        assertThat(isFreeAfterUse("one", "two", both)).isFalse();
        assertThat(Worker.result(isOneFree)).isFalse();
    }

    /** In one transaction, locks and unlocks a lock, and then tries another one. */
    private boolean isFreeAfterUse(String used, String tried, Phaser both) {
        return Objects.requireNonNull(node.transaction().execute(status -> {
            node.lock(key + used).lock();
            node.lock(key + used).unlock();
            awaitOther(both);
            boolean isFree = node.lock(key + tried).tryLock();
            awaitOther(both);
            return isFree;
        }));
    }

    private static void awaitOther(Phaser both) {
        int phase = both.arrive();
        await().atMost(LONG).until(() -> both.getPhase() != phase);
    }

    private long countOfWork() {
        return database.queryForLong("select count(*) from work_done where task = '" + key + "'");
    }

    @Test
    void aTransactionUnderALostLockDoesNotCommit() throws Exception {
        DistributedLock lock = lockedFor(SHORT);
        assertThatThrownBy(() -> node.transaction().executeWithoutResult(status -> {
                    node.sql().update("insert into work_done values (?)", key);
                    otherNodeGetsTheLock();
                }))
                .isInstanceOf(LockLostException.class);
        assertThat(countOfWork()).isZero();
        assertThatUnlockReportsTheLoss(lock);
        otherNodeUnlocks();
    }

    @Test
    void aLossAfterTheCommitIsNoneToReport() throws Exception {
        DistributedLock lock = lockedFor(Duration.ofSeconds(2));
        node.transaction().executeWithoutResult(status -> node.sql().update("insert into work_done values (?)", key));
        otherNodeGetsTheLock();
        lock.unlock();
        assertThat(countOfWork()).isEqualTo(1);
        otherNodeUnlocks();
    }

    /** Else its thread would go on, as if it had held the lock all the time. */
    @Test
    void aLockThatWasLostInAnOutageIsNotReenteredWhenTheDatabaseIsBack() throws Exception {
        FaultyDataSource faults = new FaultyDataSource(database.dataSource());
        try (Node failing = Node.over(database, faults, settings -> settings.nodeLease(Duration.ofSeconds(3)))) {
            DistributedLock lock = failing.lock(key);
            lock.lock();
            faults.down();
            otherNodeGetsTheLock();
            otherNodeUnlocks();
            faults.up();
            for (Way way : new Way[] {Way.LOCK, Way.TRY_LOCK, Way.TRY_LOCK_WITH_TTL}) {
                assertThatThrownBy(() -> way.lock(lock))
                        .isInstanceOf(CannotAcquireLockException.class)
                        .hasCauseInstanceOf(LockLostException.class);
            }
            assertThatUnlockReportsTheLoss(lock);
            lock.lock();
            lock.unlock();
        }
    }

    @Test
    void aFailureOfTheDatabaseIsNoAnswer() throws Exception {
        FaultyDataSource faults = new FaultyDataSource(database.dataSource());
        try (Node failing = Node.over(database, faults, settings -> settings)) {
            DistributedLock lock = failing.lock(key);
            DistributedLock leased = failing.lock("leased " + key);
            leased.lock(Way.TTL);
            faults.down();
            assertThatThrownBy(lock::tryLock)
                    .isInstanceOf(CannotAcquireLockException.class)
                    .hasCauseInstanceOf(LockStoreException.class);
            assertThatThrownBy(() -> lock.tryLock(Duration.ofMillis(100), Way.TTL))
                    .isInstanceOf(CannotAcquireLockException.class)
                    .hasCauseInstanceOf(LockStoreException.class);
            assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
            assertThatThrownBy(() -> failing.registry().renewLock("leased " + key))
                    .isInstanceOf(DataAccessResourceFailureException.class)
                    .hasCauseInstanceOf(LockStoreException.class);
            Future<Boolean> waiting = worker.start(() -> {
                lock.lock();
                lock.unlock();
                return true;
            });
            leased.unlock();
            faults.up();
            assertThat(Worker.result(waiting)).isTrue();
            await().atMost(LONG)
                    .until(() -> other.locks().find("DEFAULT:leased " + key).isEmpty());
        }
    }
}
