package io.github.holdfast.benchmark;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.test.TestDatabase;

/** A contestant with a pool of its own, as an application has it. */
record Node(Contestant locks, HikariDataSource pool) implements AutoCloseable {

    private static final int CONNECTIONS = 20;

    /**
     * Opens one.
     *
     * @param config how its pool reaches the database
     */
    static Node of(Kind kind, TestDatabase database, HikariConfig config) {
        config.setMaximumPoolSize(CONNECTIONS);
        config.setMinimumIdle(CONNECTIONS);
        HikariDataSource pool = new HikariDataSource(config);
        return new Node(kind.open(database, pool), pool);
    }

    int busyConnections() {
        return pool.getHikariPoolMXBean().getActiveConnections();
    }

    @Override
    public void close() {
        locks.close();
        pool.close();
    }
}
