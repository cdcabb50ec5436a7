package io.github.holdfast.repository;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.entity.LockAudit;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockNode;
import io.github.holdfast.entity.LockRun;
import io.github.holdfast.test.CountingDataSource;
import io.github.holdfast.test.Database;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import javax.sql.DataSource;
import org.hibernate.jpa.HibernatePersistenceConfiguration;
import org.springframework.orm.jpa.EntityManagerHolder;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/** An application on a test database: pool, Holdfast's tables, persistence unit and store. */
final class TestApplication implements AutoCloseable {

    private static final Duration AT_MOST = Duration.ofSeconds(20);

    private final HikariDataSource pool;
    private final CountingDataSource counting;
    private final EntityManagerFactory entityManagerFactory;
    private final LockStore store;

    private TestApplication(HikariDataSource pool, Map<String, ?> properties) {
        this.pool = pool;
        counting = new CountingDataSource(pool);
        entityManagerFactory =
                persistenceUnit(counting, properties, LockEntity.class, LockNode.class, LockAudit.class, LockRun.class);
        store = LockStore.open(entityManagerFactory);
    }

    static TestApplication on(Database database) {
        return on(database, pool -> {});
    }

    static TestApplication on(Database database, Consumer<HikariConfig> customizer) {
        return on(database, customizer, Map.of("hibernate.hbm2ddl.auto", "validate"));
    }

    static TestApplication on(Database database, Consumer<HikariConfig> customizer, Map<String, ?> properties) {
        LockSchema.on(database.dataSource()).createIfMissing();
        HikariDataSource pool = database.pool(customizer);
        try {
            return new TestApplication(pool, properties);
        } catch (RuntimeException | Error failure) {
            pool.close();
            throw failure;
        }
    }

    /** A persistence unit without a store: nothing is checked, no table is made. */
    static EntityManagerFactory persistenceUnit(
            DataSource dataSource, Map<String, ?> properties, Class<?>... entities) {
        return new HibernatePersistenceConfiguration("application")
                .managedClasses(entities)
                .properties(Map.of("jakarta.persistence.nonJtaDataSource", dataSource))
                .properties(properties)
                .createEntityManagerFactory();
    }

    EntityManagerFactory entityManagerFactory() {
        return entityManagerFactory;
    }

    /** What the persistence unit asks of the pool. */
    CountingDataSource dataSource() {
        return counting;
    }

    LockStore store() {
        return store;
    }

    /** Runs the work in a transaction of the store, with more time than any test needs. */
    <T> T call(Function<LockRepository, T> work) {
        return store.inTransaction(AT_MOST, work);
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

    LockSnapshot read(String name) {
        return call(locks -> locks.read(name)).orElseThrow(() -> new AssertionError("No row: " + name));
    }

    /** Creates a row, which nobody holds. */
    LockEntity create(String name) {
        call(locks -> locks.createIfMissing(name));
        return read(name).row();
    }

    /** Creates a row if necessary and grants it, whoever holds it. */
    LockEntity grant(String name, String owner, Duration lease) {
        LockEntity before = create(name);
        LockEntity after = before.granted(owner, null, "holder of " + owner);
        if (!call(locks -> locks.grant(before, after, lease, null))) {
            throw new AssertionError("Not granted: " + before);
        }
        return read(name).row();
    }

    @Override
    public void close() {
        entityManagerFactory.close();
        pool.close();
    }
}
