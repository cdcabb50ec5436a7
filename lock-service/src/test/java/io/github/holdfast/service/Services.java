package io.github.holdfast.service;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockNode;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.test.Database;
import jakarta.persistence.EntityManagerFactory;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Consumer;
import javax.sql.DataSource;
import org.hibernate.cfg.AvailableSettings;
import org.hibernate.jpa.HibernatePersistenceConfiguration;

/** Lock services on one database, each with a persistence unit of its own, as if in a process of its own. */
final class Services implements AutoCloseable {

    private final Database database;
    private final Deque<AutoCloseable> opened = new ArrayDeque<>();

    private Services(Database database) {
        this.database = database;
        LockSchema.on(database.dataSource()).createIfMissing();
    }

    static Services on(Database database) {
        return new Services(database);
    }

    /** A service with a pool of ten connections. */
    LockService open() {
        return open(config -> {});
    }

    LockService open(Consumer<HikariConfig> pool) {
        HikariDataSource dataSource = opened(database.pool(pool));
        return open(dataSource);
    }

    /** A service on a pool over the given data source, such as one that breaks connections. */
    LockService openOver(DataSource source) {
        return open(pool -> {
            pool.setDataSource(source);
            pool.setConnectionTimeout(1000);
            pool.setMaximumPoolSize(5);
            pool.setMinimumIdle(0);
        });
    }

    LockService open(DataSource dataSource) {
        return opened(LockService.builder(unit(dataSource)).build());
    }

    EntityManagerFactory unit(DataSource dataSource) {
        return opened(new HibernatePersistenceConfiguration("locks")
                .managedClass(LockEntity.class)
                .managedClass(LockNode.class)
                .property(AvailableSettings.JAKARTA_NON_JTA_DATASOURCE, dataSource)
                .createEntityManagerFactory());
    }

    private <T extends AutoCloseable> T opened(T closeable) {
        opened.push(closeable);
        return closeable;
    }

    /** Closes all services, the last one first. */
    @Override
    public void close() throws Exception {
        while (!opened.isEmpty()) {
            opened.pop().close();
        }
    }
}
