package io.github.holdfast.service;

import static io.github.holdfast.repository.jdbc.JdbcProxies.invoke;
import static io.github.holdfast.repository.jdbc.JdbcProxies.proxy;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.entity.LockNode;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockHandles;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.jdbc.JdbcProxies;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.jdbc.CountingDataSource;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import io.github.holdfast.test.jdbc.FaultyDataSource.Fault;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import java.lang.ref.WeakReference;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.AvailableSettings;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.dao.DataIntegrityViolationException;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.orm.jpa.EntityManagerFactoryUtils;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.SharedEntityManagerCreator;
import org.springframework.orm.jpa.vendor.HibernateJpaDialect;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.UnexpectedRollbackException;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

/** Locks inside the callers' transactions: no commit without the lock, no release before the commit. */
@Tag(OnEachDatabase.EVERYWHERE)
@OnEachDatabase
class TransactionTest {

    private static final Duration SOON = ofSeconds(60);
    private static final LockRequest REQUEST = LockRequest.of("fenced").waitAtMost(SOON);

    private Services services;
    private Database database;
    private CountingDataSource counting;
    private HikariDataSource pool;
    private EntityManagerFactory unit;
    private JpaTransactionManager manager;
    private TransactionTemplate transaction;
    private LockService mine;
    private LockService theirs;

    @BeforeEach
    void open(Database database) {
        this.database = database;
        services = Services.on(database);
        Services.emptyTables(database);
        Services.resetStock(database);
        counting = new CountingDataSource(database.dataSource());
        pool = services.patientPoolOver(counting);
        // As Spring's HibernateJpaVendorAdapter sets it: without, transactions cannot have an isolation level of their
        // own.
        unit = services.unit(pool, Map.of(AvailableSettings.CONNECTION_HANDLING, "DELAYED_ACQUISITION_AND_HOLD"));
        manager = new JpaTransactionManager(unit);
        manager.setJpaDialect(new HibernateJpaDialect());
        transaction = new TransactionTemplate(manager);
        mine = services.build(unit, builder -> builder.transactionManager(manager));
        theirs = services.build(builder -> builder);
    }

    @AfterEach
    void close() throws Exception {
        services.close();
    }

    private TransactionTemplate transaction(int propagation) {
        TransactionTemplate template = new TransactionTemplate(manager);
        template.setPropagationBehavior(propagation);
        return template;
    }

    private EntityManager em() {
        return Objects.requireNonNull(EntityManagerFactoryUtils.getTransactionalEntityManager(unit));
    }

    private void write(long value) {
        em().createNativeQuery("update stock set n = " + value + " where id = 1")
                .executeUpdate();
    }

    private long written() {
        return database.queryForLong("select n from stock where id = 1");
    }

    private boolean isFree() {
        return theirs.find(REQUEST.name()).isEmpty();
    }

    private void takeAway() {
        database.execute(
                "delete from lock_holder where name = 'fenced'",
                "update distributed_lock set owner = 'thief', node_id = null, fencing_token = fencing_token + 1,"
                        + " version = version + 1, expires_at = null where name = 'fenced'");
    }

    private static void sneakily(Callable<?> work) {
        try {
            work.call();
        } catch (RuntimeException thrown) {
            throw thrown;
        } catch (Exception thrown) {
            throw new IllegalStateException(thrown);
        }
    }

    // Fenced commit

    @Test
    void aTransactionThatBeginsUnderALostLockDoesNotCommit() throws Exception {
        LockHandle lock = mine.acquire(REQUEST);
        assertThat(lock.isFenced()).isTrue();
        takeAway();
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> transaction.executeWithoutResult(status -> write(1)))
                .satisfies(lost -> assertThat(lost.lockName()).contains(REQUEST.name()));
        assertThat(written()).isZero();
        assertThatExceptionOfType(LockLostException.class)
                .as("a second attempt neither")
                .isThrownBy(() -> transaction.executeWithoutResult(status -> write(1)));
        assertThat(written()).isZero();
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.LOST);
        transaction.executeWithoutResult(status -> write(2));
        assertThat(written()).isEqualTo(2);
    }

    @Test
    void aLockThatIsLostDuringATransactionKeepsItFromCommitting() {
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> transaction.executeWithoutResult(status -> sneakily(() -> {
                    LockHandle lock = mine.acquire(REQUEST);
                    write(1);
                    takeAway();
                    return lock;
                })));
        assertThat(written()).isZero();
    }

    @Test
    void aLockThatStandsLetsTheTransactionCommitWhateverTheLocalClockSays() throws Exception {
        LockHandle lock = Services.acquireBriefly(mine, REQUEST);
        transaction.executeWithoutResult(status -> {
            write(1);
            await().atMost(SOON).until(() -> lock.state() == LockState.LOST);
        });
        assertThat(written()).isEqualTo(1);
        lock.close();
    }

    @Test
    void theGuardComesAfterAllOtherCallbacksAndTheirWrites() throws Exception {
        List<String> order = new ArrayList<>();
        try (LockHandle lock = mine.acquire(REQUEST)) {
            transaction.executeWithoutResult(status -> {
                TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                    @Override
                    public void beforeCommit(boolean readOnly) {
                        order.add("callback");
                        write(7);
                        counting.reset();
                    }
                });
                write(6);
            });
            assertThat(counting.sql().get(0)).contains("distributed_lock").startsWith("select");
        }
        assertThat(order).containsExactly("callback");
        assertThat(written()).isEqualTo(7);
    }

    /** On MariaDB by one for each, because for several names it may lock the whole table. */
    @Test
    void aTransactionUnderSeveralLocksIsGuardedByOneStatement() throws Exception {
        LockHandles locks = mine.acquireAll(List.of(LockRequest.of("a"), LockRequest.of("b"), LockRequest.of("c")));
        counting.reset();
        transaction.executeWithoutResult(status -> write(1));
        assertThat(counting.sql()).hasSize(1 + (database.kind() == TestDatabase.MARIADB ? 3 : 1));
        database.execute("update distributed_lock set fencing_token = fencing_token + 1 where name = 'b'");
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> transaction.executeWithoutResult(status -> write(2)))
                .satisfies(lost -> assertThat(lost.lockName()).contains("b"));
        assertThat(written()).isEqualTo(1);
        locks.release();
    }

    @Test
    void aTransactionWithoutALockCostsNothing() {
        counting.reset();
        transaction.executeWithoutResult(status -> write(1));
        assertThat(counting.sql()).hasSize(1);
    }

    @Test
    void aReadOnlyTransactionIsNotGuarded() throws Exception {
        TransactionTemplate readOnly = new TransactionTemplate(manager);
        readOnly.setReadOnly(true);
        try (LockHandle lock = mine.acquire(REQUEST)) {
            Object seen = readOnly.execute(
                    status -> em().createNativeQuery("select n from stock").getSingleResult());
            assertThat(((Number) Objects.requireNonNull(seen)).longValue()).isZero();
        }
    }

    @Test
    void aNewTransactionInsideIsGuardedByItself() throws Exception {
        try (LockHandle lock = mine.acquire(REQUEST)) {
            transaction.executeWithoutResult(outer -> {
                transaction(TransactionDefinition.PROPAGATION_REQUIRES_NEW).executeWithoutResult(inner -> write(1));
                outer.setRollbackOnly();
            });
            assertThat(written()).isEqualTo(1);
            takeAway();
            assertThatExceptionOfType(LockLostException.class)
                    .isThrownBy(() -> transaction.executeWithoutResult(
                            outer -> transaction(TransactionDefinition.PROPAGATION_REQUIRES_NEW)
                                    .executeWithoutResult(inner -> write(2))));
            assertThat(written()).isEqualTo(1);
        } catch (LockLostException expected) {
            assertThat(expected.lockName()).contains(REQUEST.name());
        }
    }

    @Test
    void noTransactionAfterADetachOrAReleaseIsFenced() throws Exception {
        LockHandle detached = mine.acquire(REQUEST);
        assertThat(detached.isFenced()).isTrue();
        assertThat(detached.detach().isFenced()).isFalse();
        takeAway();
        transaction.executeWithoutResult(status -> write(1));
        assertThat(written()).isEqualTo(1);
        detached.release();

        LockHandle released = mine.acquire(LockRequest.of("released"));
        released.release();
        assertThat(released.isFenced()).isFalse();
    }

    @Test
    void withoutFenceNothingIsGuarded() throws Exception {
        LockHandle lock = mine.acquire(REQUEST.withoutFence());
        assertThat(lock.isFenced()).isFalse();
        takeAway();
        transaction.executeWithoutResult(status -> write(1));
        assertThat(written()).isEqualTo(1);
        lock.release();
    }

    @Test
    void requireFenceIsRefusedWhereThereIsNone() throws Exception {
        assertThatIllegalStateException()
                .isThrownBy(() -> theirs.acquire(REQUEST.requireFence()))
                .withMessageContaining("transactionManager");
        TransactionTemplate foreign = new TransactionTemplate(new DataSourceTransactionManager(pool));
        assertThatIllegalStateException()
                .isThrownBy(() ->
                        foreign.executeWithoutResult(status -> sneakily(() -> mine.acquire(REQUEST.requireFence()))))
                .withMessageContaining("did not begin");
        mine.acquire(REQUEST.requireFence()).close();
        assertThat(isFree()).isTrue();
    }

    @Test
    void requireFenceIsRefusedInATransactionThatIsNotCheckedAnyMore() {
        TransactionTemplate readOnly = new TransactionTemplate(manager);
        readOnly.setReadOnly(true);
        assertThatIllegalStateException()
                .isThrownBy(() -> readOnly.executeWithoutResult(
                        status -> mine.tryAcquire(LockRequest.of(REQUEST.name()).requireFence())))
                .withMessageContaining("read-only");
        transaction.executeWithoutResult(status ->
                TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                    @Override
                    public void afterCommit() {
                        assertThatIllegalStateException()
                                .isThrownBy(() -> mine.tryAcquire(
                                        LockRequest.of(REQUEST.name()).requireFence()))
                                .withMessageContaining("already checked");
                    }
                }));
        assertThat(isFree()).isTrue();
    }

    @Test
    void requireFenceIsRefusedOnceTheManagersListenersWereReplaced() throws Exception {
        try (LockHandle lock = mine.acquire(REQUEST)) {
            assertThat(lock.isFenced()).isTrue();
            manager.setTransactionExecutionListeners(List.of());
            assertThat(lock.isFenced()).isFalse();
        }
        assertThatIllegalStateException()
                .isThrownBy(() -> mine.acquire(REQUEST.requireFence()))
                .withMessageContaining("listeners");
    }

    /** The handles are garbage, so that nothing can say any more that the thread has ended its work under the lock. */
    @ParameterizedTest
    @MethodSource("kinds")
    void aLostLockKeepsTransactionsFromCommittingThoughItsHandleWasDropped(LockRequest request) throws Exception {
        WeakReference<LockHandle> handle = new WeakReference<>(mine.acquire(request));
        takeAway();
        for (int attempt = 1; attempt <= 2; attempt++) {
            assertThatExceptionOfType(LockLostException.class)
                    .as("attempt %d", attempt)
                    .isThrownBy(() -> transaction.executeWithoutResult(status -> write(1)));
            await().atMost(SOON).until(() -> {
                System.gc();
                return handle.refersTo(null);
            });
        }
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> transaction.executeWithoutResult(status -> write(1)))
                .withMessageContaining("dropped");
        assertThat(written()).isZero();
        database.execute("delete from distributed_lock");
        mine.acquire(request).close();
        transaction.executeWithoutResult(status -> write(2));
        assertThat(written()).isEqualTo(2);
    }

    /** The old handle is still reachable when the lock is acquired again. */
    @Test
    void aThreadThatHasTheLockAgainCommitsAlthoughItHasDroppedALostHandle() throws Exception {
        WeakReference<LockHandle> handle = new WeakReference<>(mine.acquire(REQUEST));
        takeAway();
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> transaction.executeWithoutResult(status -> write(1)));
        database.execute("delete from distributed_lock");
        try (LockHandle again = mine.acquire(REQUEST)) {
            await().atMost(SOON).until(() -> {
                System.gc();
                return handle.refersTo(null);
            });
            transaction.executeWithoutResult(status -> write(again.fencingToken()));
        }
        assertThat(written()).isPositive();
    }

    static List<LockRequest> kinds() {
        return List.of(
                REQUEST,
                REQUEST.lease(ofSeconds(60)),
                REQUEST.shared(),
                REQUEST.shared().lease(ofSeconds(60)));
    }

    @Test
    void guardOnDemandSaysNowWhetherTheLockStandsAndKeepsItUntilTheEnd() throws Exception {
        LockHandle lock = mine.acquire(REQUEST.lease(ofSeconds(60)));
        assertThatIllegalStateException().isThrownBy(lock::guard);
        transaction.executeWithoutResult(status -> {
            lock.guard();
            assertThatIllegalStateException().isThrownBy(() -> lock.renew(ofSeconds(60)));
            assertThat(lock.state()).isEqualTo(LockState.HELD);
        });
        lock.renew(ofSeconds(60));
        takeAway();
        transaction.executeWithoutResult(status -> {
            assertThatExceptionOfType(LockLostException.class).isThrownBy(lock::guard);
            status.setRollbackOnly();
        });
        lock.release();
        assertThatIllegalStateException().isThrownBy(lock::guard);
    }

    @Test
    void aPlainEntityTransactionIsGuardedOnDemand() throws Exception {
        LockHandle lock = theirs.acquire(REQUEST);
        EntityManagerFactory plain = services.unit(pool);
        LockService service = services.build(plain, builder -> builder);
        LockHandle own = service.acquire(LockRequest.of("plain"));
        plain.unwrap(SessionFactory.class).inTransaction(em -> {
            em.createNativeMutationQuery("update stock set n = 1").executeUpdate();
            own.guard(em);
            assertThatIllegalStateException().isThrownBy(() -> lock.guard(em));
        });
        assertThat(written()).isEqualTo(1);
        database.execute("update distributed_lock set fencing_token = fencing_token + 1 where name = 'plain'");
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> plain.unwrap(SessionFactory.class).inTransaction(em -> {
                    em.createNativeMutationQuery("update stock set n = 2").executeUpdate();
                    own.guard(em);
                }));
        assertThat(written()).isEqualTo(1);
        own.release();
        lock.release();
    }

    /** The proxy that Spring injects into an application with its adapter for Hibernate. */
    @Test
    void theTransactionOfASharedEntityManagerIsGuardedOnDemand() throws Exception {
        EntityManager shared = SharedEntityManagerCreator.createSharedEntityManager(unit, Map.of(), Session.class);
        LockService service = services.build(unit, builder -> builder);
        LockHandle lock = service.acquire(REQUEST);
        transaction.executeWithoutResult(status -> {
            write(1);
            lock.guard(shared);
        });
        assertThat(written()).isEqualTo(1);
        assertThatIllegalStateException().isThrownBy(() -> lock.guard(shared));
        takeAway();
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> transaction.executeWithoutResult(status -> {
                    write(2);
                    lock.guard(shared);
                }));
        assertThat(written()).isEqualTo(1);
        lock.release();
    }

    /** It would otherwise wait for itself. */
    @Test
    void theEntityManagerOfTheManagersTransactionGuardsItAsGuardDoes() throws Exception {
        LockHandle lock = mine.acquire(REQUEST.lease(ofSeconds(60))).detach();
        transaction.executeWithoutResult(status -> {
            lock.guard(em());
            assertThatIllegalStateException().isThrownBy(() -> lock.renew(ofSeconds(60)));
            assertThat(lock.release()).isEqualTo(ReleaseOutcome.DEFERRED);
        });
        await().atMost(SOON).until(this::isFree);
    }

    /**
     * The next transaction under the lock cannot find out by a write whether the failed commit may still happen: the outer transaction has
     * locked the row.
     */
    @ParameterizedTest
    @CsvSource({
        "DELAYED_ACQUISITION_AND_HOLD, true",
        "DELAYED_ACQUISITION_AND_HOLD, false",
        "DELAYED_ACQUISITION_AND_RELEASE_AFTER_TRANSACTION, true",
        "DELAYED_ACQUISITION_AND_RELEASE_AFTER_TRANSACTION, false"
    })
    void afterAFailedCommitInsideTheNextOneIsRefusedOnlyIfTheDatabaseDidNotAnswer(String handling, boolean isAnswered)
            throws Exception {
        assumeFalse(database.kind().isH2(), "guard() locks the row exclusively");
        FaultyDataSource faults = new FaultyDataSource(database.dataSource());
        AtomicBoolean isRefused = new AtomicBoolean();
        EntityManagerFactory unit = services.unit(
                services.patientPoolOver(refusing(faults, isRefused)),
                Map.of(AvailableSettings.CONNECTION_HANDLING, handling));
        JpaTransactionManager manager = new JpaTransactionManager(unit);
        // Without other statements and commits in between.
        LockService service = services.build(
                unit,
                builder -> builder.transactionManager(manager)
                        .nodeLease(Duration.ofHours(1))
                        .withoutHousekeeping());
        TransactionTemplate inner =
                new TransactionTemplate(manager, transaction(TransactionDefinition.PROPAGATION_REQUIRES_NEW));
        Consumer<TransactionStatus> write =
                status -> Objects.requireNonNull(EntityManagerFactoryUtils.getTransactionalEntityManager(unit))
                        .createNativeQuery("update stock set n = n + 1 where id = 1")
                        .executeUpdate();
        LockHandle lock = service.acquire(REQUEST);
        new TransactionTemplate(manager).executeWithoutResult(status -> {
            lock.guard();
            if (isAnswered) {
                isRefused.set(true);
            } else {
                // The update, the check and the commit.
                faults.arm(3, Fault.BEFORE_SEND);
            }
            assertThatThrownBy(() -> inner.executeWithoutResult(write)).isNotInstanceOf(LockStoreException.class);
            if (isAnswered) {
                assertThat(isRefused).isFalse();
                inner.executeWithoutResult(write);
            } else {
                assertThat(faults.firedAtCommit()).isTrue();
                assertThatExceptionOfType(LockStoreException.class).isThrownBy(() -> inner.executeWithoutResult(write));
            }
        });
        assertThat(written()).isEqualTo(isAnswered ? 1 : 0);
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    /** Connections whose database refuses a commit once, as a cluster does that finds a conflict. */
    private static DataSource refusing(DataSource real, AtomicBoolean isRefused) {
        return JdbcProxies.dataSource(
                real,
                connection -> proxy(Connection.class, (proxy, method, arguments) -> {
                    if (method.getName().equals("commit") && isRefused.compareAndSet(true, false)) {
                        connection.rollback();
                        throw new SQLException("conflict", "40001");
                    }
                    return invoke(connection, method, arguments);
                }));
    }

    @Test
    void aTakeoverWaitsForAGuardedTransactionToEnd() throws Exception {
        LockHandle lock = Services.acquireBriefly(mine, REQUEST);
        CompletableFuture<LockHandle> taker = new CompletableFuture<>();
        transaction.executeWithoutResult(status -> {
            write(1);
            lock.guard();
            await().atMost(SOON).until(() -> lock.state() == LockState.LOST);
            Thread thread = new Thread(() -> {
                try {
                    taker.complete(theirs.acquire(REQUEST));
                } catch (Exception failed) {
                    taker.completeExceptionally(failed);
                }
            });
            thread.start();
            await().during(ofMillis(400)).atMost(SOON).until(() -> !taker.isDone());
        });
        assertThat(written()).isEqualTo(1);
        taker.get(60, TimeUnit.SECONDS).close();
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.LOST);
    }

    @ParameterizedTest
    @ValueSource(
            ints = {
                TransactionDefinition.ISOLATION_READ_COMMITTED,
                TransactionDefinition.ISOLATION_REPEATABLE_READ,
                TransactionDefinition.ISOLATION_SERIALIZABLE
            })
    void nestedAcquisitionsInsideATransactionDoNotDoomItsCommit(int isolation) throws Exception {
        TransactionTemplate isolated = new TransactionTemplate(manager);
        isolated.setIsolationLevel(isolation);
        for (LockRequest request : List.of(REQUEST, REQUEST.owner("chosen").lease(ofSeconds(60)))) {
            LockHandle outer = mine.acquire(request);
            isolated.executeWithoutResult(status -> sneakily(() -> {
                em().createNativeQuery("select n from stock").getResultList();
                counting.reset();
                try (LockHandle inner = mine.acquire(request)) {
                    assertThat(inner.fencingToken()).isEqualTo(outer.fencingToken());
                    assertThat(inner.holdCount()).isEqualTo(2);
                }
                assertThat(counting.sql()).isEmpty();
                write(1);
                return null;
            }));
            assertThat(outer.holdCount()).isEqualTo(1);
            assertThat(outer.release()).isEqualTo(ReleaseOutcome.RELEASED);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {TransactionDefinition.ISOLATION_REPEATABLE_READ, TransactionDefinition.ISOLATION_SERIALIZABLE})
    void aNestedAcquisitionDoesNotDoomATransactionThatWasSuspendedWhenTheLockWasAcquired(int isolation) {
        TransactionTemplate isolated = new TransactionTemplate(manager);
        isolated.setIsolationLevel(isolation);
        isolated.executeWithoutResult(status -> sneakily(() -> {
            LockHandle outer = Objects.requireNonNull(transaction(TransactionDefinition.PROPAGATION_NOT_SUPPORTED)
                    .execute(suspended ->
                            mine.tryAcquire(LockRequest.of(REQUEST.name())).orElseThrow()));
            em().createNativeQuery("select n from stock").getResultList();
            counting.reset();
            mine.acquire(REQUEST).close();
            assertThat(counting.sql()).isEmpty();
            write(1);
            outer.close();
            return null;
        }));
        assertThat(written()).isEqualTo(1);
    }

    @Test
    void aNestedAcquisitionProlongsTheLeaseWhereNoCommitIsChecked() throws Exception {
        LockHandle outer = mine.acquire(REQUEST.lease(ofSeconds(60)));
        new TransactionTemplate(new DataSourceTransactionManager(pool))
                .executeWithoutResult(status -> sneakily(() -> {
                    mine.acquire(REQUEST.lease(ofMinutes(10))).close();
                    return null;
                }));
        assertThat(outer.remaining()).isGreaterThan(ofMinutes(5));
        outer.close();
    }

    @Test
    void aLockThatWasReleasedByForceKeepsTheHoldersTransactionFromCommitting() {
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> transaction.executeWithoutResult(status -> sneakily(() -> {
                    LockHandle lock = mine.acquire(REQUEST);
                    write(1);
                    assertThat(theirs.admin().forceRelease(REQUEST.name(), "to see the commit fail"))
                            .isPresent();
                    return lock;
                })));
        assertThat(written()).isZero();
    }

    @Test
    void aNewGrantInTheSameTransactionDoesNotMakeUpForALostOne() {
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> transaction.executeWithoutResult(status -> sneakily(() -> {
                    LockHandle lost = mine.acquire(REQUEST.lease(ofSeconds(2)));
                    await().atMost(SOON).until(() -> lost.state() == LockState.LOST);
                    theirs.acquire(REQUEST).close();
                    write(1);
                    assertThatExceptionOfType(LockLostException.class).isThrownBy(() -> mine.acquire(REQUEST));
                    mine.acquire(REQUEST.owner("another"));
                    return null;
                })));
        assertThat(written()).isZero();
    }

    @Test
    void whatIsAcquiredInAnInnerTransactionAndStillHeldGuardsTheOuterOneToo() {
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> transaction.executeWithoutResult(outer -> {
                    write(1);
                    transaction(TransactionDefinition.PROPAGATION_REQUIRES_NEW)
                            .executeWithoutResult(inner -> sneakily(() -> mine.acquire(REQUEST)));
                    takeAway();
                }));
        assertThat(written()).isZero();
    }

    @Test
    void aNestedRequestForAFenceIsHeeded() throws Exception {
        LockHandle outer = mine.acquire(REQUEST.withoutFence());
        LockHandle inner = mine.acquire(REQUEST.requireFence());
        assertThat(outer.isFenced()).isTrue();
        takeAway();
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> transaction.executeWithoutResult(status -> write(1)));
        inner.release();
        outer.release();
    }

    @Test
    void whatWouldHaveFailedInTheCommitFailsAsItWouldHave() throws Exception {
        database.execute("insert into lock_node (id, started_at, expires_at, ended, version)"
                + " values ('there', current_timestamp, current_timestamp, true, 0)");
        RuntimeException unlocked = catchThrowableOfType(
                RuntimeException.class, () -> transaction.executeWithoutResult(status -> persistDuplicate()));
        try (LockHandle lock = mine.acquire(REQUEST)) {
            assertThatThrownBy(() -> transaction.executeWithoutResult(status -> persistDuplicate()))
                    .isExactlyInstanceOf(unlocked.getClass());
        }
        assertThat(unlocked).isInstanceOf(DataIntegrityViolationException.class);
    }

    /** Spring does not look at the mark of the status any more, and commits. */
    @Test
    void aTransactionWhoseStatusIsMarkedDuringItsCommitIsChecked() throws Exception {
        LockHandle lock = mine.acquire(REQUEST);
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> transaction.executeWithoutResult(status -> {
                    TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                        @Override
                        public void beforeCommit(boolean readOnly) {
                            status.setRollbackOnly();
                        }
                    });
                    write(1);
                    takeAway();
                }));
        assertThat(written()).isZero();
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.LOST);
    }

    /** Its session is broken, and it commits nothing anyway. */
    @Test
    void aTransactionThatIsMarkedForRollbackFailsAsItWouldHave() throws Exception {
        database.execute("insert into lock_node (id, started_at, expires_at, ended, version)"
                + " values ('there', current_timestamp, current_timestamp, true, 0)");
        LockHandle lock = mine.acquire(REQUEST);
        assertThatExceptionOfType(UnexpectedRollbackException.class)
                .isThrownBy(() -> transaction.executeWithoutResult(
                        outer -> assertThatThrownBy(() -> transaction.executeWithoutResult(inner -> {
                                    persistDuplicate();
                                    em().flush();
                                }))
                                .isInstanceOf(RuntimeException.class)));
        counting.reset();
        transaction.executeWithoutResult(status -> write(1));
        assertThat(counting.sql()).as("nothing is in doubt").hasSize(2);
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    /** Fails when it is flushed. */
    private void persistDuplicate() {
        em().persist(new LockNode("there", Instant.EPOCH, Instant.EPOCH, true));
    }

    @Test
    void transactionsThatFollowOneAnotherAreNotDisturbedByReleasesThatAreUnderWay() throws Exception {
        for (int round = 0; round < 60; round++) {
            long value = round;
            LockRequest request = LockRequest.of("round " + round % 3).waitAtMost(SOON);
            transaction.executeWithoutResult(status -> sneakily(() -> {
                try (LockHandle lock = mine.acquire(request)) {
                    write(value);
                }
                return null;
            }));
            assertThat(written()).isEqualTo(value);
        }
        await().atMost(SOON).until(() -> theirs.admin().held("", 10).isEmpty());
    }

    // Deferred release

    @Test
    void aLockReleasedInsideATransactionIsFreeOnlyAfterItHasEnded() {
        for (boolean commit : List.of(true, false)) {
            transaction.executeWithoutResult(status -> sneakily(() -> {
                LockHandle lock = mine.acquire(REQUEST);
                write(1);
                assertThat(lock.release()).isEqualTo(ReleaseOutcome.DEFERRED);
                assertThat(lock.state()).isEqualTo(LockState.RELEASED);
                assertThat(theirs.tryAcquire(LockRequest.of(REQUEST.name()))).isEmpty();
                if (!commit) {
                    status.setRollbackOnly();
                }
                return null;
            }));
            await().atMost(SOON).until(this::isFree);
        }
    }

    @Test
    void aLockThatWasAcquiredBeforeIsReleasedAfterTheTransactionToo() throws Exception {
        LockHandle lock = mine.acquire(REQUEST);
        transaction.executeWithoutResult(status -> {
            assertThat(lock.release()).isEqualTo(ReleaseOutcome.DEFERRED);
            assertThat(isFree()).isFalse();
        });
        await().atMost(SOON).until(this::isFree);
    }

    @Test
    void acquiringAgainInTheSameTransactionTakesTheReleaseBackWithoutAStatement() {
        transaction.executeWithoutResult(status -> sneakily(() -> {
            long token = 0;
            for (int round = 0; round < 3; round++) {
                if (round > 0) {
                    counting.reset();
                }
                try (LockHandle lock = mine.acquire(REQUEST)) {
                    assertThat(round == 0 || lock.fencingToken() == token).isTrue();
                    token = lock.fencingToken();
                }
            }
            assertThat(counting.sql()).isEmpty();
            assertThat(isFree()).isFalse();
            return null;
        }));
        await().atMost(SOON).until(this::isFree);
    }

    @Test
    void acquiringAgainRightAfterTheCommitWorks() throws Exception {
        for (int round = 0; round < 20; round++) {
            transaction.executeWithoutResult(status -> sneakily(() -> {
                mine.acquire(REQUEST).close();
                return null;
            }));
            mine.tryAcquire(LockRequest.of(REQUEST.name())).orElseThrow().close();
        }
        await().atMost(SOON).until(this::isFree);
    }

    /** Pairs of requests: the second is not nested, and the thread would wait for itself. */
    static Stream<Arguments> requestsInTurn() {
        LockRequest plain = LockRequest.of(REQUEST.name());
        LockRequest other = plain.notReentrant();
        return Stream.of(
                arguments("not re-entrant", other, other),
                arguments("after a re-entrant one", plain, other),
                arguments("re-entrant, after one that is not", other, plain),
                arguments("by lease", other.lease(ofMinutes(1)), other.lease(ofMinutes(1))),
                arguments("a lease through the node", other, other.lease(ofMinutes(1))),
                arguments("shared", other.shared(), other.shared()),
                arguments(
                        "shared by lease",
                        other.shared().lease(ofMinutes(1)),
                        plain.shared().lease(ofMinutes(1))),
                arguments("shared, after an exclusive one", other, other.shared()),
                arguments("in order of arrival", other.fair(), other.fair()),
                arguments("owner, re-entrant", other.owner("us"), plain.owner("us")),
                arguments("unfenced", other.withoutFence(), other),
                arguments("a short minimum hold is over", other.minimumHold(ofMillis(1)), other));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("requestsInTurn")
    void aThreadNeverWaitsForARequestOfItsOwnTransaction(String kind, LockRequest first, LockRequest next) {
        transaction.executeWithoutResult(status -> sneakily(() -> {
            LockHandle before = mine.acquire(first);
            assertThat(before.release()).isEqualTo(ReleaseOutcome.DEFERRED);
            await().atMost(SOON).pollInSameThread().until(() -> isAcquiredAndReleased(next, before.fencingToken()));
            LockHandle last = mine.tryAcquire(next).orElseThrow();
            assertThat(theirs.tryAcquire(LockRequest.of(REQUEST.name()))).isEmpty();
            assertThat(last.isFenced()).isTrue();
            assertThat(last.holdCount()).isEqualTo(1);
            write(1);
            return last.release();
        }));
        assertThat(written()).isEqualTo(1);
        await().atMost(SOON).until(this::isFree);
    }

    private boolean isAcquiredAndReleased(LockRequest request, long token) {
        return mine.tryAcquire(request)
                .filter(lock -> lock.fencingToken() == token)
                .filter(lock -> lock.release() == ReleaseOutcome.DEFERRED)
                .isPresent();
    }

    @Test
    void aHoldThatGoesOnIsReenteredAsItsNewRequestSays() {
        LockRequest plain = LockRequest.of(REQUEST.name());
        transaction.executeWithoutResult(status -> sneakily(() -> {
            mine.acquire(plain).close();
            LockHandle single = mine.tryAcquire(plain.notReentrant()).orElseThrow();
            assertThat(mine.tryAcquire(plain)).isEmpty();
            assertThat(mine.tryAcquire(plain.notReentrant())).isEmpty();
            single.close();
            LockHandle outer = mine.tryAcquire(plain).orElseThrow();
            mine.tryAcquire(plain).orElseThrow().close();
            assertThat(outer.holdCount()).isEqualTo(1);
            return outer.release();
        }));
        await().atMost(SOON).until(this::isFree);
    }

    @Test
    void aThreadGoesOnWithAHoldThatAnotherThreadHasReleased() throws Exception {
        LockRequest request = LockRequest.of(REQUEST.name()).notReentrant();
        LockHandle lock = mine.acquire(request);
        transaction.executeWithoutResult(status -> {
            assertThat(CompletableFuture.supplyAsync(lock::release).join()).isEqualTo(ReleaseOutcome.DEFERRED);
            assertThat(CompletableFuture.supplyAsync(() -> mine.tryAcquire(request))
                            .join())
                    .isEmpty();
            assertThat(mine.tryAcquire(request)).hasValueSatisfying(LockHandle::close);
        });
        await().atMost(SOON).until(this::isFree);
    }

    @Test
    void aDetachedHoldGoesOnTooAndBelongsToItsThreadAgain() {
        LockRequest request = LockRequest.of(REQUEST.name()).notReentrant();
        LockHandle lock = Objects.requireNonNull(transaction.execute(status -> {
            mine.tryAcquire(request).orElseThrow().detach().close();
            return mine.tryAcquire(request).orElseThrow();
        }));
        assertThat(lock.isFenced()).isTrue();
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(isFree()).isTrue();
    }

    /** It would not see what the suspended transaction has written. */
    @Test
    void aTransactionInsideWaitsForTheOneThatItSuspends() {
        LockRequest request = LockRequest.of(REQUEST.name()).notReentrant();
        transaction.executeWithoutResult(status -> sneakily(() -> {
            mine.acquire(request).close();
            for (int inside : List.of(
                    TransactionDefinition.PROPAGATION_REQUIRES_NEW, TransactionDefinition.PROPAGATION_NOT_SUPPORTED)) {
                transaction(inside)
                        .executeWithoutResult(
                                inner -> assertThat(mine.tryAcquire(request)).isEmpty());
            }
            mine.tryAcquire(request).orElseThrow().close();
            return null;
        }));
        await().atMost(SOON).until(this::isFree);
    }

    @Test
    void aChosenOwnerGoesOnOnlyByReentry() {
        LockRequest request = LockRequest.of(REQUEST.name()).owner("us").lease(ofMinutes(1));
        transaction.executeWithoutResult(status -> sneakily(() -> {
            LockHandle lock = mine.acquire(request);
            LockHandle others = theirs.acquire(request);
            lock.close();
            assertThat(mine.tryAcquire(request.notReentrant()))
                    .as("another process has the lock for this owner")
                    .isEmpty();
            others.close();
            return null;
        }));
        await().atMost(SOON).until(this::isFree);
    }

    @Test
    void aShareByLeaseDoesNotGoOnForARequestWithoutOne() {
        LockRequest request = LockRequest.of(REQUEST.name()).notReentrant().shared();
        transaction.executeWithoutResult(status -> sneakily(() -> {
            long token = released(mine.acquire(request.lease(ofMinutes(1))));
            assertThat(released(mine.tryAcquire(request).orElseThrow())).isNotEqualTo(token);
            return null;
        }));
        await().atMost(SOON).until(this::isFree);
    }

    @Test
    void anUnfencedLeaseIsProlongedWhenItsHoldGoesOn() {
        LockRequest request = LockRequest.of(REQUEST.name()).notReentrant().withoutFence();
        transaction.executeWithoutResult(status -> sneakily(() -> {
            long token = released(mine.acquire(request.lease(ofMinutes(1))));
            LockHandle longer = mine.tryAcquire(request.lease(ofMinutes(30))).orElseThrow();
            assertThat(longer.remaining()).isGreaterThan(ofMinutes(20));
            return assertThat(released(longer)).isEqualTo(token);
        }));
        await().atMost(SOON).until(this::isFree);
    }

    @Test
    void anUnfencedLeaseIsProlongedByANestedRequest() {
        LockRequest request = LockRequest.of(REQUEST.name()).withoutFence();
        transaction.executeWithoutResult(status -> sneakily(() -> {
            LockHandle outer = mine.acquire(request.lease(ofMinutes(1)));
            try (LockHandle inner =
                    mine.tryAcquire(request.lease(ofMinutes(30))).orElseThrow()) {
                assertThat(inner.remaining()).isGreaterThan(ofMinutes(20));
            }
            return assertThat(outer.release()).isEqualTo(ReleaseOutcome.DEFERRED);
        }));
        await().atMost(SOON).until(this::isFree);
    }

    /** The transaction has locked the row, so a write of the lease would wait for its own thread. */
    @Test
    void anUnfencedLeaseWhoseRowItsTransactionHasLockedIsReenteredWithoutAWrite() {
        LockRequest request = LockRequest.of(REQUEST.name()).withoutFence().lease(ofMinutes(1));
        transaction.executeWithoutResult(status -> sneakily(() -> {
            LockHandle outer = mine.acquire(request);
            outer.guard();
            mine.tryAcquire(request.lease(ofMinutes(30))).orElseThrow().close();
            outer.close();
            LockHandle again = mine.tryAcquire(request.lease(ofMinutes(30))).orElseThrow();
            return assertThat(again.release()).isEqualTo(ReleaseOutcome.DEFERRED);
        }));
        await().atMost(SOON).until(this::isFree);
    }

    /** Otherwise the commit of a holder that has read its row would be refused. */
    @Test
    void aRefusedRequestOfAChosenOwnerLeavesTheRowOfTheHolder() throws Exception {
        LockRequest request = LockRequest.of(REQUEST.name()).owner("chosen");
        LockHandle held = mine.acquire(request.lease(SOON));
        String version = "select version from distributed_lock where name = '" + REQUEST.name() + "'";
        long before = database.queryForLong(version);
        try (LockService refusing = services.open()) {
            assertThatIllegalStateException().isThrownBy(() -> refusing.tryAcquire(request));
            // Its close completes the writes in doubt.
        }
        assertThat(database.queryForLong(version)).isEqualTo(before);
        held.close();
    }

    private static long released(LockHandle lock) {
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.DEFERRED);
        return lock.fencingToken();
    }

    /** It might not see what the other thread's transaction commits. */
    @Test
    void aThreadWaitsForATransactionOfAnotherThreadUnderItsOwnHold() throws Exception {
        LockRequest request = LockRequest.of(REQUEST.name()).notReentrant();
        LockHandle lock = mine.acquire(request);
        CountDownLatch isUnder = new CountDownLatch(1);
        CountDownLatch isAsked = new CountDownLatch(1);
        CompletableFuture<Void> other =
                CompletableFuture.runAsync(() -> transaction.executeWithoutResult(status -> sneakily(() -> {
                    lock.guard();
                    isUnder.countDown();
                    return isAsked.await(SOON.toSeconds(), TimeUnit.SECONDS);
                })));
        transaction.executeWithoutResult(status -> sneakily(() -> {
            assertThat(isUnder.await(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
            assertThat(lock.release()).isEqualTo(ReleaseOutcome.DEFERRED);
            assertThat(mine.tryAcquire(request)).isEmpty();
            isAsked.countDown();
            return other.get(SOON.toSeconds(), TimeUnit.SECONDS);
        }));
        await().atMost(SOON).until(this::isFree);
    }

    @Test
    void aMinimumHoldIsKeptInsideTheTransactionToo() {
        LockRequest request = LockRequest.of(REQUEST.name()).notReentrant();
        transaction.executeWithoutResult(status -> sneakily(() -> {
            mine.acquire(request.minimumHold(ofMinutes(10))).close();
            assertThat(mine.tryAcquire(request)).isEmpty();
            return null;
        }));
        database.execute("delete from distributed_lock");
        transaction.executeWithoutResult(status -> sneakily(() -> {
            mine.acquire(request).close();
            assertThat(mine.tryAcquire(request.minimumHold(ofMinutes(10)))).isEmpty();
            return null;
        }));
        await().atMost(SOON).until(this::isFree);
    }

    @Test
    void aLostHoldDoesNotGoOn() {
        LockRequest request = LockRequest.of(REQUEST.name()).notReentrant();
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> transaction.executeWithoutResult(status -> sneakily(() -> {
                    mine.acquire(request).close();
                    takeAway();
                    mine.tryAcquire(request).ifPresent(LockHandle::release);
                    write(1);
                    return null;
                })));
        assertThat(written()).isZero();
    }

    static Stream<LockRequest> allKinds() {
        LockRequest plain = LockRequest.of(REQUEST.name()).notReentrant();
        return Stream.of(plain, plain.lease(ofMinutes(1)), plain.shared(), plain.owner("us"), plain.fair());
    }

    @ParameterizedTest
    @MethodSource("allKinds")
    void noThreadIsRefusedBecauseOfAReleaseAfterACommit(LockRequest first) {
        LockRequest plain = LockRequest.of(REQUEST.name());
        List<LockRequest> next =
                List.of(plain, plain.lease(ofMinutes(1)), plain.shared(), plain.owner("them"), plain.rowLock());
        for (int round = 0; round < 200; round++) {
            transaction.executeWithoutResult(
                    status -> sneakily(() -> mine.acquire(first).release()));
            LockRequest request = next.get(round % next.size());
            Supplier<Optional<LockHandle>> again = () -> mine.tryAcquire(request);
            Optional<LockHandle> acquired = round % 2 == 0
                    ? again.get()
                    : CompletableFuture.supplyAsync(again).join();
            assertThat(acquired).as("round %d: %s", round, request).isPresent();
            acquired.orElseThrow().close();
        }
        await().atMost(SOON).until(this::isFree);
    }

    @Test
    void theReleaseWaitsForSuspendedTransactionsToo() throws Exception {
        LockHandle lock = mine.acquire(REQUEST);
        transaction.executeWithoutResult(outer -> {
            transaction(TransactionDefinition.PROPAGATION_REQUIRES_NEW).executeWithoutResult(inner -> {
                assertThat(lock.release()).isEqualTo(ReleaseOutcome.DEFERRED);
            });
            await().during(ofMillis(300)).atMost(SOON).until(() -> !isFree());
        });
        await().atMost(SOON).until(this::isFree);
    }

    @Test
    void aParticipatingTransactionEndsWithTheOuterOne() throws Exception {
        transaction.executeWithoutResult(outer -> {
            transaction.executeWithoutResult(inner -> sneakily(() -> {
                mine.acquire(REQUEST).close();
                return null;
            }));
            assertThat(isFree()).isFalse();
        });
        await().atMost(SOON).until(this::isFree);
    }

    @Test
    void aReleaseByAnotherThreadWaitsForTheTransactionToo() throws Exception {
        LockHandle lock = mine.acquire(REQUEST);
        transaction.executeWithoutResult(status -> {
            assertThat(CompletableFuture.supplyAsync(lock::release).join()).isEqualTo(ReleaseOutcome.DEFERRED);
            assertThat(isFree()).isFalse();
        });
        await().atMost(SOON).until(this::isFree);
    }

    @Test
    void aTransactionOfAnotherManagerDefersTheReleaseButIsNotFenced() throws Exception {
        TransactionTemplate foreign = new TransactionTemplate(new DataSourceTransactionManager(pool));
        foreign.executeWithoutResult(status -> sneakily(() -> {
            LockHandle lock = mine.acquire(REQUEST);
            assertThat(lock.isFenced()).isFalse();
            assertThat(lock.release()).isEqualTo(ReleaseOutcome.DEFERRED);
            assertThat(isFree()).isFalse();
            return null;
        }));
        await().atMost(SOON).until(this::isFree);
    }

    @Test
    void closeSaysNothingOfALossIfATransactionHasCommittedWhileTheLockStood() throws Exception {
        LockHandle lock = mine.acquire(REQUEST);
        transaction.executeWithoutResult(status -> write(1));
        takeAway();
        lock.close();
        LockHandle other = mine.acquire(LockRequest.of("other"));
        database.execute("update distributed_lock set fencing_token = fencing_token + 1 where name = 'other'");
        assertThatThrownBy(other::close).isInstanceOf(LockLostException.class);
    }
}
