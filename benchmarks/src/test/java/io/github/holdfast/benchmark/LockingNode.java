package io.github.holdfast.benchmark;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.benchmark.contestant.HoldfastLocks;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import jakarta.persistence.EntityManagerFactory;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.vendor.HibernateJpaDialect;
import org.springframework.transaction.support.TransactionTemplate;

/** A node of an application: connections, transactions and a lock service of its own. */
final class LockingNode implements AutoCloseable {

    private final HikariDataSource pool;
    private final EntityManagerFactory unit;
    private final TransactionTemplate transaction;
    private final LockService locks;

    LockingNode(Database database) {
        pool = database.pool(config -> {});
        unit = HoldfastLocks.unit(pool);
        JpaTransactionManager manager = new JpaTransactionManager(unit);
        manager.setJpaDialect(new HibernateJpaDialect());
        // The statements of JdbcTemplate take part in its transactions.
        manager.setDataSource(pool);
        transaction = new TransactionTemplate(manager);
        locks = LockService.builder(unit)
                .transactionManager(manager)
                .withoutHousekeeping()
                .build();
    }

    LockService locks() {
        return locks;
    }

    JdbcTemplate jdbc() {
        return new JdbcTemplate(pool);
    }

    TransactionTemplate transaction() {
        return transaction;
    }

    @Override
    public void close() {
        locks.close();
        unit.close();
        pool.close();
    }
}
