package io.github.holdfast.repository.store;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockNode;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.repository.rows.LockSnapshot;
import io.github.holdfast.repository.rows.RowTransaction;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import java.net.URL;
import java.net.URLClassLoader;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.orm.jpa.EntityManagerHolder;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.SharedEntityManagerCreator;
import org.springframework.orm.jpa.persistenceunit.PersistenceManagedTypes;
import org.springframework.orm.jpa.vendor.HibernateJpaVendorAdapter;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

/** The store's transactions on a database, and those of its caller: neither notices the other. */
@Tag(OnEachDatabase.EVERYWHERE)
@OnEachDatabase
class LockStoreTest extends LockStoreContract {

    private final Database database;
    private final TestApplication onDatabase;
    private final EntityManagerFactory unit;

    /** The caller's, on the thread's transaction. */
    private final EntityManager entityManager;

    LockStoreTest(Database database) {
        this.database = database;
        onDatabase = TestApplication.on(database);
        application = onDatabase;
        unit = onDatabase.entityManagerFactory();
        entityManager = SharedEntityManagerCreator.createSharedEntityManager(unit);
    }

    @AfterEach
    void nothingIsLeftOnTheThread() {
        assertThat(TransactionSynchronizationManager.getResourceMap()).isEmpty();
        assertThat(TransactionSynchronizationManager.isSynchronizationActive()).isFalse();
    }

    /** The transactions of an application with JPA, as Spring Boot would set them up. */
    private TransactionTemplate jpaTransactions() {
        JpaTransactionManager manager = new JpaTransactionManager(unit);
        manager.setDataSource(onDatabase.dataSource());
        return new TransactionTemplate(manager);
    }

    /** The transactions of an application that uses JDBC on the same data source. */
    private TransactionTemplate jdbcTransactions() {
        return new TransactionTemplate(new JdbcTransactionManager(onDatabase.dataSource()));
    }

    /** A rollback would do as well if it were not for H2, where it may undo what others commit. */
    @Test
    void transactionThatLocksARowIsCommittedOnH2Only() {
        LockEntity row = application.create("job");
        int commits = onDatabase.dataSource().commits();
        int rollbacks = onDatabase.dataSource().rollbacks();
        try (RowTransaction transaction = application.store().beginRowTransaction()) {
            assertThat(transaction.lockIfFree("job")).map(LockEntity::version).contains(row.version());
        }
        boolean isCommitted = database.kind().isH2();
        assertThat(onDatabase.dataSource().commits() - commits).isEqualTo(isCommitted ? 1 : 0);
        assertThat(onDatabase.dataSource().rollbacks() - rollbacks).isEqualTo(isCommitted ? 0 : 1);
    }

    @Test
    void transactionThatMustNotCommitIsRolledBack() {
        application.create("job");
        int commits = onDatabase.dataSource().commits();
        try (RowTransaction transaction = application.store().beginRowTransaction()) {
            assertThat(transaction.lockIfFree("job")).isPresent();
            transaction.setRollbackOnly();
        }
        assertThat(onDatabase.dataSource().commits()).isEqualTo(commits);
    }

    /** As with Spring Boot's developer tools: their loader has the application's classes, and its parent has the libraries. */
    @Test
    void storeOpensUnderAnotherContextClassLoader() throws Exception {
        application.create("job");
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        try (URLClassLoader applications = new URLClassLoader(new URL[0], before)) {
            thread.setContextClassLoader(applications);
            assertThat(LockStore.open(unit).autocommit(LEASE).read("job")).isPresent();
        } finally {
            thread.setContextClassLoader(before);
        }
    }

    // The caller's transaction

    @Test
    void locksAreKeptAlthoughTheCallerRollsBack() {
        LockEntity row = application.create("job");
        jpaTransactions().executeWithoutResult(caller -> {
            entityManager.persist(node("caller's"));
            entityManager.flush();
            assertThat(grant(row)).isTrue();
            assertThat(versionOf("job")).isEqualTo(row.version() + 1);
            caller.setRollbackOnly();
        });

        assertThat(application.read("job").row().owner()).isEqualTo("me");
        assertThat(nodes()).isZero();
    }

    @Test
    void locksAreKeptAlthoughTheCallerOfJdbcRollsBack() {
        LockEntity row = application.create("job");
        jdbcTransactions().executeWithoutResult(caller -> {
            DataSource dataSource = onDatabase.dataSource();
            new JdbcTemplate(dataSource).update("update distributed_lock set version = version where name = 'other'");
            new JdbcTemplate(dataSource)
                    .update(
                            "insert into distributed_lock (name, hold_count, fencing_token, version) values ('x', 0, 1, 1)");
            assertThat(grant(row)).isTrue();
            assertThat(versionOf("job")).isEqualTo(row.version() + 1);
            caller.setRollbackOnly();
        });

        assertThat(application.read("job").row().owner()).isEqualTo("me");
        assertThat(application.<Optional<LockSnapshot>>call(locks -> locks.read("x")))
                .isEmpty();
    }

    @Test
    void callerCommitsAlthoughTheStoreRollsBack() {
        LockEntity row = application.create("job");
        jpaTransactions().executeWithoutResult(caller -> {
            entityManager.persist(node("caller's"));
            assertThatIllegalStateException()
                    .isThrownBy(() -> application.call(locks -> {
                        assertThat(locks.supersede("job", row.version())).isTrue();
                        throw new IllegalStateException("rolls back");
                    }));
            assertThat(caller.isRollbackOnly()).isFalse();
        });

        assertThat(nodes()).isEqualTo(1);
        assertThat(versionOf("job")).isEqualTo(row.version());
    }

    @Test
    void callersPersistenceContextIsNotTouched() {
        LockEntity row = application.create("job");
        jpaTransactions().executeWithoutResult(caller -> {
            LockEntity managed = entityManager.find(LockEntity.class, "job");
            LockNode unflushed = node("caller's");
            entityManager.persist(unflushed);
            onDatabase.dataSource().reset();
            assertThat(grant(row)).isTrue();
            assertThat(application.read("job").row()).isNotSameAs(managed);

            assertThat(onDatabase.dataSource().sql())
                    .noneMatch(sql -> sql.contains("lock_node") && sql.startsWith("insert"));
            assertThat(nodes()).isZero();
            assertThat(entityManager.contains(managed)).isTrue();
            assertThat(entityManager.contains(unflushed)).isTrue();
            assertThat(entityManager.find(LockEntity.class, "job")).isSameAs(managed);
            assertThat(managed.version()).isEqualTo(row.version());
        });

        assertThat(nodes()).isEqualTo(1);
        assertThat(application.read("job").row().owner()).isEqualTo("me");
    }

    @Test
    void callersUncommittedWritesAreNotSeen() {
        jpaTransactions().executeWithoutResult(caller -> {
            entityManager
                    .createNativeQuery(
                            "insert into distributed_lock (name, hold_count, fencing_token, version) values ('x', 0, 1, 1)")
                    .executeUpdate();
            assertThat(application.<Optional<LockSnapshot>>call(locks -> locks.read("x")))
                    .isEmpty();
            caller.setRollbackOnly();
        });
    }

    @Test
    void callersSynchronizationsRunWithTheCallersTransaction() {
        LockEntity row = application.create("job");
        int[] completions = {0};
        jpaTransactions().executeWithoutResult(caller -> {
            TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                @Override
                public void afterCompletion(int status) {
                    completions[0]++;
                }
            });
            assertThat(grant(row)).isTrue();
            assertThat(completions[0]).isZero();
            assertThat(TransactionSynchronizationManager.isActualTransactionActive())
                    .isTrue();
        });

        assertThat(completions[0]).isEqualTo(1);
    }

    @Test
    void storeWritesInsideAReadOnlyTransactionOfTheCaller() {
        LockEntity row = application.create("job");
        TransactionTemplate readOnly = jpaTransactions();
        readOnly.setReadOnly(true);
        readOnly.executeWithoutResult(caller -> {
            assertThat(entityManager.find(LockEntity.class, "job")).isNotNull();
            assertThat(grant(row)).isTrue();
        });

        assertThat(application.read("job").row().owner()).isEqualTo("me");
    }

    /** As open-in-view binds one to the thread of a web request. */
    @Test
    void entityManagerThatIsBoundWithoutATransactionIsNotTouched() {
        LockEntity row = application.create("job");
        EntityManager bound = unit.createEntityManager();
        TransactionSynchronizationManager.bindResource(unit, new EntityManagerHolder(bound));
        try {
            LockNode unflushed = node("caller's");
            bound.persist(unflushed);
            assertThat(grant(row)).isTrue();

            assertThat(nodes()).isZero();
            assertThat(bound.contains(unflushed)).isTrue();
            assertThat(bound.isOpen()).isTrue();
        } finally {
            TransactionSynchronizationManager.unbindResource(unit);
            bound.close();
        }
        assertThat(application.read("job").row().owner()).isEqualTo("me");
    }

    /** Spring Boot gives the application a proxy of the factory. */
    @Test
    void springsPersistenceUnitWillDo() {
        LockEntity row = application.create("job");
        LocalContainerEntityManagerFactoryBean spring = new LocalContainerEntityManagerFactoryBean();
        spring.setDataSource(onDatabase.dataSource());
        spring.setJpaVendorAdapter(new HibernateJpaVendorAdapter());
        spring.setManagedTypes(PersistenceManagedTypes.of(
                LockEntity.ENTITIES.stream().map(Class::getName).toArray(String[]::new)));
        spring.afterPropertiesSet();
        EntityManagerFactory proxy = requireNonNull(spring.getObject());
        LockStore store = LockStore.open(proxy);
        new TransactionTemplate(new JpaTransactionManager(proxy)).executeWithoutResult(caller -> {
            boolean granted =
                    store.inTransaction(LEASE, locks -> locks.grant(row, row.granted("me", null, null), LEASE, null));
            assertThat(granted).isTrue();
            caller.setRollbackOnly();
        });
        spring.destroy();

        assertThat(application.read("job").row().owner()).isEqualTo("me");
    }

    // The store's own

    @Test
    void eachCallIsOneTransactionOnOneConnection() {
        LockEntity row = application.create("job");
        onDatabase.dataSource().reset();
        application.call(locks -> {
            locks.read("job");
            return locks.grant(row, row.granted("me", null, null), LEASE, null);
        });

        assertThat(onDatabase.dataSource().connections()).isEqualTo(1);
        assertThat(onDatabase.dataSource().statements()).isEqualTo(2);
        assertThat(onDatabase.dataSource().commits()).isEqualTo(1);
        assertThat(onDatabase.dataSource().rollbacks()).isZero();
    }

    @Test
    void workThatThrowsIsRolledBack() {
        LockEntity row = application.create("job");
        onDatabase.dataSource().reset();
        assertThatThrownBy(() -> application.call(locks -> {
                    locks.supersede("job", row.version());
                    throw new IllegalArgumentException("ours");
                }))
                .isExactlyInstanceOf(IllegalArgumentException.class);

        assertThat(onDatabase.dataSource().commits()).isZero();
        assertThat(onDatabase.dataSource().rollbacks()).isEqualTo(1);
        assertThat(versionOf("job")).isEqualTo(row.version());
    }

    @Test
    void rolledBackTransactionLeavesNothing() {
        LockEntity row = application.create("job");
        boolean superseded = onDatabase.rolledBack(locks -> locks.supersede("job", row.version()));

        assertThat(superseded).isTrue();
        assertThat(versionOf("job")).isEqualTo(row.version());
    }

    @ParameterizedTest
    @CsvSource({"true, false", "false, false", "false, true"})
    void poolMayHaveEitherAutoCommitMode(boolean autoCommit, boolean providerDisablesAutoCommit) {
        Map<String, ?> properties =
                Map.of("hibernate.connection.provider_disables_autocommit", providerDisablesAutoCommit);
        try (TestApplication other = TestApplication.on(database, pool -> pool.setAutoCommit(autoCommit), properties)) {
            LockEntity row = other.create("job");
            assertThat(other.<Boolean>call(locks -> locks.grant(row, row.granted("me", null, null), LEASE, null)))
                    .isTrue();
            assertThat(versionOf("job")).isEqualTo(row.version() + 1);
            assertThatIllegalStateException()
                    .isThrownBy(() -> other.call(locks -> {
                        assertThat(locks.supersede("job", row.version() + 1)).isTrue();
                        throw new IllegalStateException("rolls back");
                    }));
            assertThat(versionOf("job")).isEqualTo(row.version() + 1);
        }
    }

    /** The tables of H2 have names in upper case, as SQL wants it, which an application that quotes does not find. */
    @Test
    void namesMayBeQuoted() {
        Map<String, ?> quoting = Map.of("hibernate.globally_quoted_identifiers", true);
        if (database.kind().isH2()) {
            assertThatThrownBy(() -> TestApplication.on(database, pool -> {}, quoting))
                    .isInstanceOfSatisfying(
                            StoreException.class,
                            failure -> assertThat(failure.failure()).isEqualTo(Failure.TABLE_MISSING));
            return;
        }
        try (TestApplication other = TestApplication.on(database, pool -> {}, quoting)) {
            assertThatOperationsWork(other);
        }
    }

    private static void assertThatOperationsWork(TestApplication other) {
        LockEntity row = other.grant("job", "me", LEASE);
        assertThat(other.<Boolean>call(locks -> locks.extend(row, row.reentered(), LEASE)))
                .isTrue();
        LockEntity twice = other.read("job").row();
        assertThat(twice.holdCount()).isEqualTo(2);
        assertThat(other.<Boolean>call(locks -> locks.release(twice, twice.withHoldCount(0))))
                .isTrue();
        assertThat(other.<Boolean>call(locks -> locks.release(twice, twice.withHoldCount(0))))
                .isFalse();
    }

    private static LockNode node(String id) {
        Instant now = Instant.now();
        return new LockNode(id, now, now, false);
    }

    private long nodes() {
        return database.queryForLong("select count(*) from lock_node");
    }
}
