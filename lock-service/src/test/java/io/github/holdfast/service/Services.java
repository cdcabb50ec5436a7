package io.github.holdfast.service;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.repository.PersistenceUnit;
import io.github.holdfast.test.Database;
import jakarta.persistence.EntityManagerFactory;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import javax.sql.DataSource;

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
        return build(pool, builder -> builder);
    }

    /** A service on a pool over the given data source, such as one that breaks connections. */
    LockService openOver(DataSource source) {
        return build(poolOver(source), builder -> builder);
    }

    /** A service with a pool of ten connections and other settings. */
    LockService build(UnaryOperator<LockServiceBuilder> settings) {
        return build(config -> {}, settings);
    }

    /** Nothing is checked for it if its persistence unit was used for another one before. */
    private LockService build(Consumer<HikariConfig> pool, UnaryOperator<LockServiceBuilder> settings) {
        PersistenceUnit unit = persistenceUnit(opened(database.pool(pool)), Map.of());
        return build(unit.factory(), builder -> settings.apply(builder.store(unit::store)));
    }

    /** A service with a pool of its own, which is checked for it. */
    LockService build(DataSource dataSource, UnaryOperator<LockServiceBuilder> settings) {
        return build(unit(dataSource), settings);
    }

    LockService build(EntityManagerFactory unit, UnaryOperator<LockServiceBuilder> settings) {
        return opened(settings.apply(LockService.builder(unit)).build());
    }

    /** A pool over the given data source. */
    HikariDataSource poolOver(DataSource source) {
        return opened(database.pool(pool -> {
            pool.setDataSource(source);
            pool.setConnectionTimeout(1000);
            pool.setMaximumPoolSize(5);
            pool.setMinimumIdle(0);
        }));
    }

    EntityManagerFactory unit(DataSource dataSource) {
        return unit(dataSource, Map.of());
    }

    EntityManagerFactory unit(DataSource dataSource, Map<String, String> properties) {
        return persistenceUnit(dataSource, properties).factory();
    }

    private PersistenceUnit persistenceUnit(DataSource dataSource, Map<String, String> properties) {
        return opened(PersistenceUnit.on(database.kind(), dataSource, properties));
    }

    /** Has this closed too, before what was opened earlier. */
    <T extends AutoCloseable> T opened(T closeable) {
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
