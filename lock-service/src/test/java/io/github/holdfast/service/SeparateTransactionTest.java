package io.github.holdfast.service;

import static io.github.holdfast.repository.jdbc.JdbcProxies.invoke;
import static io.github.holdfast.repository.jdbc.JdbcProxies.proxy;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.jdbc.JdbcProxies;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.jdbc.CountingDataSource;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import io.github.holdfast.test.jdbc.FaultyDataSource.Fault;
import jakarta.persistence.EntityManagerFactory;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionStatus;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

/** The commits of a manager that is not of the locks' persistence unit are checked by a transaction beside them. */
@Tag(OnEachDatabase.EVERYWHERE)
@OnEachDatabase
class SeparateTransactionTest {

    private static final Duration SOON = ofSeconds(60);
    private static final LockRequest REQUEST = LockRequest.of("separate").waitAtMost(SOON);

    private volatile Runnable atCommit = () -> {};
    private final AtomicBoolean isBroken = new AtomicBoolean();
    private final AtomicBoolean timesOut = new AtomicBoolean();
    private Services services;
    private Database database;
    private CountingDataSource counting;
    private FaultyDataSource faulty;
    private HikariDataSource locksPool;
    private EntityManagerFactory unit;
    private DataSourceTransactionManager manager;
    private TransactionTemplate transaction;
    private JdbcTemplate jdbc;
    private LockService mine;
    private LockService theirs;

    @BeforeEach
    void open(Database database) {
        this.database = database;
        services = Services.on(database);
        Services.emptyTables(database);
        Services.resetStock(database);
        HikariDataSource applications = services.patientPoolOver(database.dataSource());
        jdbc = new JdbcTemplate(applications);
        manager = new DataSourceTransactionManager(applications) {
            @Override
            protected void doCommit(DefaultTransactionStatus status) {
                atCommit.run();
                super.doCommit(status);
            }
        };
        transaction = new TransactionTemplate(manager);
        counting = new CountingDataSource(database.dataSource());
        faulty = new FaultyDataSource(JdbcProxies.dataSource(
                counting,
                connection -> proxy(Connection.class, (proxy, method, arguments) -> {
                    if (method.getName().equals("rollback") && isBroken.get()) {
                        throw new SQLException("The connection is broken", "08006");
                    }
                    if (method.getName().equals("prepareStatement") && timesOut.get()) {
                        throw new SQLTimeoutException("The statement took too long");
                    }
                    return invoke(connection, method, arguments);
                })));
        locksPool = services.patientPoolOver(faulty);
        unit = services.unit(locksPool);
        mine = services.build(
                unit,
                builder -> builder.separateTransactionManager(manager)
                        .nodeLease(ofMinutes(30))
                        .withoutHousekeeping());
        theirs = services.build(builder -> builder);
    }

    @AfterEach
    void close() throws Exception {
        services.close();
    }

    private void inTransaction(Callable<?> work) {
        transaction.executeWithoutResult(status -> {
            try {
                work.call();
            } catch (RuntimeException thrown) {
                throw thrown;
            } catch (Exception thrown) {
                throw new IllegalStateException(thrown);
            }
        });
    }

    private int write() {
        return jdbc.update("update stock set n = 1 where id = 1");
    }

    private long written() {
        return database.queryForLong("select n from stock where id = 1");
    }

    private Optional<LockInfo> takeAway() {
        return theirs.admin().forceRelease(REQUEST.name(), "to see what the commit does");
    }

    private boolean isFree() {
        return theirs.find(REQUEST.name()).isEmpty();
    }

    @Test
    void commitsWhileTheLockIsHeld() throws Exception {
        try (LockHandle lock = mine.acquire(REQUEST)) {
            assertThat(lock.isFenced()).isFalse();
            counting.reset();
            inTransaction(this::write);
            assertThat(counting.sql()).singleElement().asString().contains("distributed_lock");
        }
        assertThat(written()).isEqualTo(1);
        assertThat(locksPool.getHikariPoolMXBean().getActiveConnections()).isZero();
    }

    @Test
    void doesNotCommitAfterTheLockWasLost() {
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> inTransaction(() -> {
                    mine.acquire(REQUEST);
                    write();
                    return takeAway().orElseThrow();
                }));
        assertThat(written()).isZero();
        assertThat(locksPool.getHikariPoolMXBean().getActiveConnections()).isZero();
    }

    /** After that, Spring commits, and only then says that it should have rolled back. */
    @Test
    void doesNotCommitAfterTheLockWasLostAndACallbackHasFailed() {
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> inTransaction(() -> {
                    TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                        @Override
                        public void beforeCommit(boolean readOnly) {
                            assertThatIllegalArgumentException()
                                    .isThrownBy(() -> inTransaction(() -> {
                                        throw new IllegalArgumentException("inner");
                                    }));
                        }
                    });
                    mine.acquire(REQUEST);
                    write();
                    return takeAway().orElseThrow();
                }));
        assertThat(written()).isZero();
    }

    @Test
    void noOtherOwnerGetsTheLockBeforeTheCommitHasEnded() throws Exception {
        CompletableFuture<Optional<LockInfo>> taken = new CompletableFuture<>();
        atCommit = () -> {
            taken.completeAsync(this::takeAway);
            assertThatThrownBy(() -> taken.get(500, TimeUnit.MILLISECONDS)).isInstanceOf(TimeoutException.class);
        };
        LockHandle lock = mine.acquire(REQUEST);
        inTransaction(this::write);
        assertThat(written()).isEqualTo(1);
        // A forced release gives up after a second. On a slow machine, that may be before the commit has ended.
        if (taken.handle((released, failed) -> failed == null && released.isPresent())
                .get(SOON.toSeconds(), TimeUnit.SECONDS)) {
            assertThat(lock.release()).isEqualTo(ReleaseOutcome.LOST);
        } else {
            assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
        }
    }

    @Test
    void aReleaseWaitsForTheTransaction() {
        inTransaction(() -> {
            LockHandle lock = mine.acquire(REQUEST);
            write();
            assertThat(lock.release()).isEqualTo(ReleaseOutcome.DEFERRED);
            assertThat(isFree()).isFalse();
            return null;
        });
        await().atMost(SOON).until(this::isFree);
        assertThat(written()).isEqualTo(1);
    }

    @Test
    void aReadOnlyTransactionIsNotChecked() throws Exception {
        try (LockHandle lock = mine.acquire(REQUEST)) {
            transaction.setReadOnly(true);
            counting.reset();
            inTransaction(() -> jdbc.queryForObject("select n from stock where id = 1", Long.class));
            assertThat(counting.sql()).isEmpty();
            assertThat(lock.isFenced()).isFalse();
        }
    }

    @Test
    void anUnfencedLockIsNotChecked() {
        inTransaction(() -> {
            mine.acquire(REQUEST.withoutFence());
            write();
            return takeAway().orElseThrow();
        });
        assertThat(written()).isEqualTo(1);
    }

    @Test
    void whatNeedsTheFenceIsRefused() throws Exception {
        assertThatIllegalStateException()
                .isThrownBy(() -> mine.acquire(REQUEST.requireFence()))
                .withMessageContaining("requires a fence, but the lock service's transaction manager is not of");
        inTransaction(() -> {
            assertThatIllegalStateException()
                    .isThrownBy(() -> mine.acquire(REQUEST.requireFence()))
                    .withMessageContaining("requires a fence");
            assertThatIllegalStateException()
                    .isThrownBy(() -> mine.acquire(REQUEST.rowLock()))
                    .withMessageContaining("not of the locks' persistence unit");
            try (LockHandle lock = mine.acquire(REQUEST)) {
                assertThatIllegalStateException().isThrownBy(lock::guard);
            }
            return null;
        });
    }

    @Test
    void doesNotCommitIfTheCheckFails() throws Exception {
        LockHandle lock = mine.acquire(REQUEST);
        assertThatExceptionOfType(LockStoreException.class)
                .isThrownBy(() -> inTransaction(() -> {
                    faulty.arm(1, Fault.BEFORE_SEND);
                    return write();
                }));
        assertThat(written()).isZero();
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    @Test
    void aCheckThatTimesOutLeavesNothing() throws Exception {
        LockHandle lock = mine.acquire(REQUEST);
        assertThatExceptionOfType(LockStoreException.class)
                .isThrownBy(() -> inTransaction(() -> {
                    timesOut.set(true);
                    return write();
                }));
        timesOut.set(false);
        assertThat(written()).isZero();
        assertThat(locksPool.getHikariPoolMXBean().getActiveConnections()).isZero();
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    @Test
    void aSavepointIsNotChecked() throws Exception {
        TransactionTemplate nested = new TransactionTemplate(manager);
        nested.setPropagationBehavior(TransactionDefinition.PROPAGATION_NESTED);
        try (LockHandle lock = mine.acquire(REQUEST)) {
            counting.reset();
            inTransaction(() -> {
                nested.executeWithoutResult(inner -> write());
                assertThat(counting.sql()).isEmpty();
                return lock.name();
            });
            assertThat(counting.sql()).hasSize(1);
        }
        assertThat(written()).isEqualTo(1);
        assertThat(locksPool.getHikariPoolMXBean().getActiveConnections()).isZero();
        assertThat(isFree()).isTrue();
    }

    @Test
    void anInnerTransactionIsCheckedByItself() throws Exception {
        TransactionTemplate inner = new TransactionTemplate(manager);
        inner.setPropagationBehavior(TransactionDefinition.PROPAGATION_REQUIRES_NEW);
        LockHandle lock = mine.acquire(REQUEST);
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> inTransaction(() -> {
                    inner.executeWithoutResult(status -> write());
                    assertThat(written()).isEqualTo(1);
                    return takeAway().orElseThrow();
                }));
        assertThat(locksPool.getHikariPoolMXBean().getActiveConnections()).isZero();
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.LOST);
    }

    @Test
    void afterTheCommitTheRowIsNotLocked() throws Exception {
        // Does not throw at the end, because the transaction has committed while the lock was held.
        try (LockHandle lock = mine.acquire(REQUEST)) {
            inTransaction(() -> {
                TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                    @Override
                    public void afterCommit() {
                        assertThat(locksPool.getHikariPoolMXBean().getActiveConnections())
                                .isZero();
                        assertThat(takeAway()).isPresent();
                    }
                });
                return write();
            });
        }
        assertThat(written()).isEqualTo(1);
    }

    @Test
    void aShareIsCheckedToo() throws Exception {
        LockHandle share = mine.acquire(REQUEST.shared());
        inTransaction(this::write);
        assertThat(written()).isEqualTo(1);
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> inTransaction(() -> {
                    database.execute("delete from lock_holder");
                    return jdbc.update("update stock set n = 2 where id = 1");
                }));
        assertThat(written()).isEqualTo(1);
        assertThat(share.release()).isEqualTo(ReleaseOutcome.LOST);
    }

    @Test
    void aBrokenGuardIsReported() throws Exception {
        try (CapturedLog log = CapturedLog.of("io.github.holdfast");
                LockHandle lock = mine.acquire(REQUEST)) {
            atCommit = () -> isBroken.set(true);
            inTransaction(this::write);
            isBroken.set(false);
            assertThat(log.lines())
                    .anySatisfy(line -> assertThat(line.getFormattedMessage())
                            .contains("A transaction under lock '" + lock.name() + "' may have committed unguarded"));
        }
        assertThat(written()).isEqualTo(1);
    }

    @Test
    void aManagerThatReportsNoTransactionsIsRefused() {
        LockServiceBuilder builder = LockService.builder(unit);
        DataSourceTransactionManager silent = new DataSourceTransactionManager(database.dataSource());
        silent.setTransactionSynchronization(AbstractPlatformTransactionManager.SYNCHRONIZATION_NEVER);
        assertThatIllegalStateException()
                .isThrownBy(() -> builder.separateTransactionManager(silent))
                .withMessageContaining("SYNCHRONIZATION_NEVER");
        PlatformTransactionManager unknown = new UnknownManager(manager);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> builder.separateTransactionManager(unknown))
                .withMessageContaining("UnknownManager");
    }

    @Test
    void aSecondManagerBesideThatOfTheUnitIsRefused() {
        LockServiceBuilder builder = LockService.builder(unit)
                .transactionManager(new JpaTransactionManager(unit))
                .separateTransactionManager(manager);
        assertThatIllegalStateException().isThrownBy(builder::build).withMessageContaining("one manager");
    }

    private record UnknownManager(PlatformTransactionManager delegate) implements PlatformTransactionManager {

        @Override
        public TransactionStatus getTransaction(@Nullable TransactionDefinition definition) {
            return delegate.getTransaction(definition);
        }

        @Override
        public void commit(TransactionStatus status) {
            delegate.commit(status);
        }

        @Override
        public void rollback(TransactionStatus status) {
            delegate.rollback(status);
        }
    }
}
