package io.github.holdfast.integration;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.LockServiceBuilder;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import jakarta.persistence.EntityManagerFactory;
import java.util.function.UnaryOperator;
import javax.sql.DataSource;
import org.hibernate.cfg.AvailableSettings;
import org.hibernate.jpa.HibernatePersistenceConfiguration;
import org.springframework.integration.support.locks.DistributedLock;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.vendor.HibernateJpaDialect;
import org.springframework.transaction.support.TransactionTemplate;

/** A node with a lock registry, as if in a process of its own. */
final class Node implements AutoCloseable {

    private final HikariDataSource pool;
    private final EntityManagerFactory unit;
    private final LockService locks;
    private final HoldfastLockRegistry registry;
    private final TransactionTemplate transaction;

    private Node(HikariDataSource pool, UnaryOperator<LockServiceBuilder> settings) {
        this.pool = pool;
        unit = new HibernatePersistenceConfiguration("locks")
                .managedClasses(LockEntity.ENTITIES)
                .property(AvailableSettings.JAKARTA_NON_JTA_DATASOURCE, pool)
                .createEntityManagerFactory();
        JpaTransactionManager transactions = new JpaTransactionManager(unit);
        transactions.setJpaDialect(new HibernateJpaDialect());
        transactions.setDataSource(pool);
        locks = settings.apply(LockService.builder(unit)
                        .transactionManager(transactions)
                        .withoutHousekeeping())
                .build();
        registry = HoldfastLockRegistry.of(locks);
        transaction = new TransactionTemplate(transactions);
    }

    static Node on(Database database) {
        return on(database, settings -> settings);
    }

    static Node on(Database database, UnaryOperator<LockServiceBuilder> settings) {
        LockSchema.on(database.dataSource()).createIfMissing();
        return new Node(database.pool(pool -> {}), settings);
    }

    /** A node whose pool takes its connections from this source. */
    static Node over(Database database, DataSource source) {
        LockSchema.on(database.dataSource()).createIfMissing();
        return new Node(database.pool(pool -> pool.setDataSource(source)), settings -> settings);
    }

    /** A node whose database may be down for long. */
    static Node over(Database database, FaultyDataSource faults, UnaryOperator<LockServiceBuilder> settings) {
        LockSchema.on(database.dataSource()).createIfMissing();
        return new Node(database.pool(faults, faults, pool -> pool.setConnectionTimeout(2000)), settings);
    }

    LockService locks() {
        return locks;
    }

    HoldfastLockRegistry registry() {
        return registry;
    }

    DistributedLock lock(String key) {
        return registry.obtain(key);
    }

    /** Transactions of the manager that the lock service knows. */
    TransactionTemplate transaction() {
        return transaction;
    }

    /** Executes SQL, in the transaction of the thread if there is one. */
    JdbcTemplate sql() {
        return new JdbcTemplate(pool);
    }

    @Override
    public void close() {
        locks.close();
        unit.close();
        pool.close();
    }
}
