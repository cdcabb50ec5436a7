package io.github.holdfast.repository.store;

import io.github.holdfast.repository.jdbc.JdbcProxies;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.sql.DataSource;

/** Connections to a real H2 server. Once, one of them fails to read the isolation level, as if another session had just ended. */
final class InternalErrorOnce {

    private final AtomicBoolean isArmed = new AtomicBoolean();

    /** Lets the next reading of an isolation level fail. */
    void arm() {
        isArmed.set(true);
    }

    boolean hasHappened() {
        return !isArmed.get();
    }

    DataSource of(DataSource real) {
        return JdbcProxies.dataSource(
                real,
                connection -> JdbcProxies.proxy(Connection.class, (proxy, method, arguments) -> {
                    if (method.getName().equals("getTransactionIsolation") && isArmed.getAndSet(false)) {
                        throw new SQLException("General error", "HY000", 50000);
                    }
                    return JdbcProxies.invoke(connection, method, arguments);
                }));
    }
}
