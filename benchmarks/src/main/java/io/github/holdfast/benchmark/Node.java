package io.github.holdfast.benchmark;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.test.Database;

/** A contestant with a pool of its own, as in an application's process. */
record Node(Contestant locks, HikariDataSource pool) implements AutoCloseable {

    private static final int CONNECTIONS = 20;

    static Node of(Kind kind, Database database, String url) {
        HikariDataSource pool = database.pool(config -> {
            config.setJdbcUrl(url);
            config.setMaximumPoolSize(CONNECTIONS);
            config.setMinimumIdle(CONNECTIONS);
        });
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
