package io.github.holdfast.sharding;

import com.zaxxer.hikari.HikariConfig;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.LockServiceBuilder;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import jakarta.persistence.EntityManagerFactory;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.hibernate.cfg.AvailableSettings;
import org.hibernate.jpa.HibernatePersistenceConfiguration;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.vendor.HibernateJpaDialect;
import org.springframework.transaction.support.TransactionTemplate;

/** Lock services on several databases, each with a pool and a persistence unit of its own, as if in a process of its own. */
final class Nodes implements AutoCloseable {

    /** A node's part on one database. Its service fences the transactions of its template. */
    record Shard(LockService locks, TransactionTemplate transaction) {}

    private final Deque<AutoCloseable> opened = new ArrayDeque<>();

    /** Creates a database with the tables of the locks. */
    Database database(TestDatabase kind) {
        return withTables(opened(Database.create(kind)));
    }

    static Database withTables(Database database) {
        LockSchema.on(database.dataSource()).createIfMissing();
        return database;
    }

    Shard open(Database database) {
        return open(database, pool -> pool.setMaximumPoolSize(12), builder -> builder);
    }

    Shard open(Database database, Consumer<HikariConfig> pool, UnaryOperator<LockServiceBuilder> settings) {
        EntityManagerFactory unit = opened(new HibernatePersistenceConfiguration("locks")
                .managedClasses(LockEntity.ENTITIES)
                .property(AvailableSettings.JAKARTA_NON_JTA_DATASOURCE, opened(database.pool(pool)))
                .createEntityManagerFactory());
        JpaTransactionManager manager = new JpaTransactionManager(unit);
        manager.setJpaDialect(new HibernateJpaDialect());
        LockService locks = opened(settings.apply(
                        LockService.builder(unit).transactionManager(manager).withoutHousekeeping())
                .build());
        return new Shard(locks, new TransactionTemplate(manager));
    }

    <T extends AutoCloseable> T opened(T closeable) {
        opened.push(closeable);
        return closeable;
    }

    /** Closes everything, the last one first. */
    @Override
    public void close() throws Exception {
        while (!opened.isEmpty()) {
            opened.pop().close();
        }
    }
}
