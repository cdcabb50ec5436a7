package io.github.holdfast.shedlock;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.jdbc.CountingDataSource;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import jakarta.persistence.EntityManagerFactory;
import java.util.ArrayDeque;
import java.util.Deque;
import javax.sql.DataSource;
import org.hibernate.cfg.AvailableSettings;
import org.hibernate.jpa.HibernatePersistenceConfiguration;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.vendor.HibernateJpaDialect;
import org.springframework.transaction.support.TransactionTemplate;

/** Applications on one database, each with a lock service on its own pool and persistence unit, as if in a process of its own. */
final class Nodes implements AutoCloseable {

    /** One application. Its service fences the transactions of its template. */
    record Node(LockService locks, TransactionTemplate transaction) {}

    private final Database database;
    private final Deque<AutoCloseable> opened = new ArrayDeque<>();

    private Nodes(Database database) {
        this.database = database;
        LockSchema.on(database.dataSource()).createIfMissing();
    }

    static Nodes on(Database database) {
        return new Nodes(database);
    }

    Node open() {
        return openOn(opened(database.pool(pool -> pool.setMaximumPoolSize(10))));
    }

    /** On a pool over a data source whose connections can break. */
    Node openOver(FaultyDataSource faults) {
        return openOn(opened(database.pool(faults, faults, pool -> {
            pool.setConnectionTimeout(500);
            pool.setMaximumPoolSize(5);
        })));
    }

    /** On a pool over a data source whose connections do not break. */
    Node openOver(CountingDataSource counting) {
        return openOn(opened(database.pool(pool -> {
            pool.setDataSource(counting);
            pool.setMaximumPoolSize(5);
        })));
    }

    private Node openOn(DataSource pool) {
        EntityManagerFactory unit = opened(new HibernatePersistenceConfiguration("locks")
                .managedClasses(LockEntity.ENTITIES)
                .property(AvailableSettings.JAKARTA_NON_JTA_DATASOURCE, pool)
                .createEntityManagerFactory());
        JpaTransactionManager manager = new JpaTransactionManager(unit);
        manager.setJpaDialect(new HibernateJpaDialect());
        LockService locks = opened(LockService.builder(unit)
                .transactionManager(manager)
                .withoutHousekeeping()
                .build());
        return new Node(locks, new TransactionTemplate(manager));
    }

    private <T extends AutoCloseable> T opened(T closeable) {
        opened.push(closeable);
        return closeable;
    }

    @Override
    public void close() throws Exception {
        while (!opened.isEmpty()) {
            opened.pop().close();
        }
    }
}
