package io.github.holdfast.benchmark;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.benchmark.contestant.Contestant;
import io.github.holdfast.benchmark.contestant.Kind;
import io.github.holdfast.test.TestDatabase;

/** A contestant with its own pool, as in an application. */
record Node(Contestant locks, HikariDataSource pool) implements AutoCloseable {

    private static final int CONNECTIONS = 20;

    /**
     * Opens a node.
     *
     * @param config the configuration of the pool, with the way to the database
     */
    static Node of(Kind kind, TestDatabase database, HikariConfig config) {
        HikariDataSource pool = pool(config);
        return new Node(kind.open(database, pool), pool);
    }

    /** Opens the pool of a node. All its connections are open soon. */
    static HikariDataSource pool(HikariConfig config) {
        config.setMaximumPoolSize(CONNECTIONS);
        config.setMinimumIdle(CONNECTIONS);
        return new HikariDataSource(config);
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
