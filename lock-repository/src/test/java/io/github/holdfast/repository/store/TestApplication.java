package io.github.holdfast.repository.store;

import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.repository.rows.JpaTransactionalLockRows;
import io.github.holdfast.repository.rows.LockRepository;
import io.github.holdfast.repository.rows.TransactionalLockRows;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.jdbc.CountingDataSource;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import org.springframework.orm.jpa.EntityManagerHolder;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/** An application on a test database: pool, Holdfast's tables, persistence unit and store. */
public final class TestApplication extends StoreUnderTest {

    private final Database database;
    private final HikariDataSource pool;
    private final CountingDataSource counting;
    private final EntityManagerFactory entityManagerFactory;
    private final LockStore store;
    private final Runnable end;

    private TestApplication(
            Database database,
            HikariDataSource pool,
            CountingDataSource counting,
            EntityManagerFactory entityManagerFactory,
            LockStore store,
            Runnable end) {
        this.database = database;
        this.pool = pool;
        this.counting = counting;
        this.entityManagerFactory = entityManagerFactory;
        this.store = store;
        this.end = end;
    }

    public static TestApplication on(Database database) {
        return on(database, pool -> {});
    }

    /** Lets the drivers of MySQL and MariaDB count the rows that a statement changes, not those that it finds. */
    public static void countChangedRows(HikariConfig pool) {
        String url = pool.getJdbcUrl();
        pool.setJdbcUrl(url + (url.contains("?") ? "&" : "?") + "useAffectedRows=true");
    }

    /** Nothing is checked for it if its persistence unit and its store were another's before. */
    public static TestApplication on(Database database, Consumer<HikariConfig> customizer) {
        return on(database, customizer, (pool, counting) -> {
            PersistenceUnit unit =
                    PersistenceUnit.on(database.kind(), counting, Map.of("hibernate.hbm2ddl.auto", "validate"));
            return new TestApplication(database, pool, counting, unit.factory(), unit.store(), unit::close);
        });
    }

    /** With a persistence unit of its own and a store that was opened, and so checked, for it. */
    public static TestApplication on(Database database, Consumer<HikariConfig> customizer, Map<String, ?> properties) {
        return on(database, customizer, (pool, counting) -> {
            EntityManagerFactory unit = PersistenceUnit.directlyOn(counting, properties);
            return new TestApplication(database, pool, counting, unit, LockStore.open(unit), unit::close);
        });
    }

    private static TestApplication on(
            Database database,
            Consumer<HikariConfig> customizer,
            BiFunction<HikariDataSource, CountingDataSource, TestApplication> application) {
        LockSchema.on(database.dataSource()).createIfMissing();
        HikariDataSource pool = database.pool(customizer);
        try {
            return application.apply(pool, new CountingDataSource(pool));
        } catch (RuntimeException | Error failure) {
            pool.close();
            throw failure;
        }
    }

    EntityManagerFactory entityManagerFactory() {
        return entityManagerFactory;
    }

    /** What the persistence unit asks of the pool. */
    public CountingDataSource dataSource() {
        return counting;
    }

    @Override
    public LockStore store() {
        return store;
    }

    @Override
    public TestTables tables() {
        return new JpaTables(entityManagerFactory);
    }

    @Override
    public Instant clock() {
        return TestSql.clock(database);
    }

    @Override
    public void awaitClock(Instant time) {
        await().pollInterval(Duration.ofMillis(20)).until(() -> !clock().isBefore(time));
    }

    /** Does the same as {@link #call}, but rolls the transaction back. */
    public <T> T rolledBack(Function<TransactionalLockRows, T> work) {
        return ((JpaLockStore) store).inRolledBackTransaction(AT_MOST, work);
    }

    /** Returns the bare statements of the rows. */
    public static LockRepository queries(TransactionalLockRows locks) {
        return ((JpaTransactionalLockRows) locks).queries();
    }

    /** Inside {@link #call}, executes native SQL in the same transaction. */
    void execute(String sql) {
        entityManager().createNativeQuery(sql).executeUpdate();
    }

    /** Inside {@link #call}, runs a native query in the same transaction: the first column of the first row. */
    Object query(String sql) {
        return entityManager()
                .createNativeQuery(sql, Object.class)
                .getResultList()
                .get(0);
    }

    /** As {@link #query}, but the driver cancels it after some seconds. */
    Object queryFor(int seconds, String sql) {
        return entityManager()
                .createNativeQuery(sql, Object.class)
                .setHint("jakarta.persistence.query.timeout", seconds * 1000)
                .getResultList()
                .get(0);
    }

    /** The one that the store has bound to this thread. */
    private EntityManager entityManager() {
        return TransactionSynchronizationManager.getResourceMap().entrySet().stream()
                .filter(resource -> resource.getKey() != entityManagerFactory)
                .map(Map.Entry::getValue)
                .filter(EntityManagerHolder.class::isInstance)
                .map(EntityManagerHolder.class::cast)
                .findFirst()
                .orElseThrow()
                .getEntityManager();
    }

    @Override
    public void close() {
        end.run();
        pool.close();
    }
}
