package io.github.holdfast.service;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.HoldfastException;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import io.github.holdfast.test.jdbc.FaultyDataSource.Fault;
import jakarta.persistence.EntityManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;

/**
 * The commit of a caller's transaction has no answer, and the lock is released. Whoever is granted it next reads only after
 * it is decided whether that commit happens.
 */
@OnEachDatabase
@TestInstance(Lifecycle.PER_CLASS) // Two services for all tests.
class UnknownCommitTest {

    private static final Duration SOON = ofSeconds(60);

    private static final LockRequest BY_NODE = LockRequest.of("ledger").waitAtMost(SOON);
    private static final LockRequest BY_LEASE = BY_NODE.lease(ofSeconds(3));

    private Ledger ledger;
    private FaultyDataSource faults;
    private Bookkeeper mine;
    private Bookkeeper theirs;
    private CountDownLatch hasRead;
    private volatile boolean isDelayed;

    @BeforeAll
    void open(Database database) {
        LockSchema.on(database.dataSource()).createIfMissing();
        ledger = Ledger.create(database);
        faults = new FaultyDataSource(database.dataSource());
        mine = Bookkeeper.on(
                database.pool(pool -> pool.setDataSource(faults)),
                builder -> builder.lockDataSource(database.pool(pool -> {})));
        theirs = Bookkeeper.on(database.pool(Isolation.READ_COMMITTED::set), builder -> builder);
    }

    @BeforeEach
    void clear() {
        ledger.clear();
        hasRead = new CountDownLatch(1);
    }

    @AfterEach
    void sink() throws SQLException {
        if (isDelayed) {
            isDelayed = false;
            faults.sink();
        }
    }

    @AfterAll
    void close() {
        mine.close();
        theirs.close();
    }

    /** Posts in the current transaction, the commit of which is then to have no answer. */
    private void postWithoutAnswer(EntityManager em, LockHandle lock, Fault fault) {
        Ledger.post(em, lock.fencingToken(), () -> {});
        em.flush();
        int guard = lock.isFenced() ? 1 : 0;
        faults.arm(guard + 1, fault);
        isDelayed = fault == Fault.DELAYED;
    }

    private void assertHasNoAnswer(Runnable transaction) {
        assertThatThrownBy(transaction::run).isNotInstanceOf(HoldfastException.class);
        assertThat(faults.fired()).isTrue();
        faults.disarm();
    }

    /** Posts in a transaction under the lock, as the next one does. */
    private void post(Bookkeeper books, LockRequest request) {
        books.underLock(
                request, lock -> books.inTransaction(em -> Ledger.post(em, lock.fencingToken(), hasRead::countDown)));
    }

    /** Tries until the transaction can begin: it does not wait for ever for another one to end. */
    private static void untilItIsDecided(Runnable transaction) {
        await().pollInSameThread()
                .atMost(SOON)
                .ignoreExceptionsInstanceOf(LockStoreException.class)
                .until(() -> {
                    transaction.run();
                    return true;
                });
    }

    private void assertThatNobodyReads() throws InterruptedException {
        assertThat(hasRead.await(1, TimeUnit.SECONDS)).isFalse();
    }

    private void land() {
        isDelayed = false;
        try {
            faults.land();
        } catch (SQLException refused) {
            throw new IllegalStateException(refused);
        }
    }

    private void assertThatNothingIsLost(long commits) {
        assertThat(ledger.faults(commits)).isEmpty();
    }

    @Test
    void aTakeoverWaitsForACommitThatArrivesLate() throws Exception {
        assertHasNoAnswer(() ->
                mine.inTransaction(em -> mine.underLock(BY_LEASE, lock -> postWithoutAnswer(em, lock, Fault.DELAYED))));
        CompletableFuture<Void> next = CompletableFuture.runAsync(() -> post(theirs, BY_NODE));
        await().atMost(SOON).until(() -> theirs.locks().find(BY_LEASE.name()).isEmpty());
        assertThatNobodyReads();
        land();
        next.get(60, TimeUnit.SECONDS);
        assertThatNothingIsLost(2);
    }

    @Test
    void aReleaseWaitsForACommitThatArrivesLateAndGoesOnAfterItsAnswer() throws Exception {
        LockHandle lock = mine.locks().acquire(BY_NODE);
        assertHasNoAnswer(() -> mine.inTransaction(em -> postWithoutAnswer(em, lock, Fault.DELAYED)));
        CompletableFuture<Void> next = CompletableFuture.runAsync(() -> post(theirs, BY_NODE));
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.UNRESOLVED);
        assertThat(hasRead.getCount()).isEqualTo(1);
        land();
        next.get(60, TimeUnit.SECONDS);
        assertThatNothingIsLost(2);
    }

    @Test
    void aCommitThatNeverArrivesKeepsNobodyOut() throws Exception {
        assertHasNoAnswer(() ->
                mine.inTransaction(em -> mine.underLock(BY_NODE, lock -> postWithoutAnswer(em, lock, Fault.DELAYED))));
        sink();
        post(theirs, BY_NODE);
        assertThatNothingIsLost(1);
    }

    @Test
    void aCommitWhoseAnswerIsLostIsSeenByTheNextOne() throws Exception {
        assertHasNoAnswer(() -> mine.inTransaction(
                em -> mine.underLock(BY_NODE, lock -> postWithoutAnswer(em, lock, Fault.ANSWER_LOST))));
        post(theirs, BY_NODE);
        assertThatNothingIsLost(2);
    }

    @Test
    void underTheSameLockNoOtherTransactionBeginsBefore() throws Exception {
        mine.underLock(BY_NODE, lock -> {
            assertHasNoAnswer(() -> mine.inTransaction(em -> postWithoutAnswer(em, lock, Fault.DELAYED)));
            assertThatExceptionOfType(LockStoreException.class)
                    .isThrownBy(() -> mine.inTransaction(em -> Assertions.fail("It has begun")))
                    .withMessageContaining("unanswered commit");
            land();
            mine.inTransaction(em -> Ledger.post(em, lock.fencingToken(), () -> {}));
        });
        assertThatNothingIsLost(2);
    }

    @Test
    void whoAcquiresAgainAtOnceWaitsForTheFirstCommitToo() throws Exception {
        CountDownLatch isUnanswered = new CountDownLatch(1);
        CompletableFuture<Void> retried = CompletableFuture.runAsync(() -> {
            assertHasNoAnswer(() -> mine.inTransaction(
                    em -> mine.underLock(BY_NODE, lock -> postWithoutAnswer(em, lock, Fault.DELAYED))));
            isUnanswered.countDown();
            untilItIsDecided(() -> post(mine, BY_NODE));
        });
        assertThat(isUnanswered.await(60, TimeUnit.SECONDS)).isTrue();
        assertThatNobodyReads();
        land();
        retried.get(60, TimeUnit.SECONDS);
        assertThatNothingIsLost(2);
    }

    @Test
    void withoutAFenceTheUpdateIsLost() throws Exception {
        LockRequest unfenced = BY_NODE.withoutFence();
        assertHasNoAnswer(() ->
                mine.inTransaction(em -> mine.underLock(unfenced, lock -> postWithoutAnswer(em, lock, Fault.DELAYED))));
        CompletableFuture<Void> next = CompletableFuture.runAsync(() -> post(theirs, unfenced));
        assertThat(hasRead.await(60, TimeUnit.SECONDS)).isTrue();
        land();
        next.get(60, TimeUnit.SECONDS);
        assertThat(ledger.amount()).isEqualTo(1);
    }
}
