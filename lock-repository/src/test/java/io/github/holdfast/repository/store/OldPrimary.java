package io.github.holdfast.repository.store;

import static io.github.holdfast.repository.jdbc.JdbcProxies.invoke;
import static io.github.holdfast.repository.jdbc.JdbcProxies.proxy;

import io.github.holdfast.repository.jdbc.JdbcProxies;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import javax.sql.DataSource;

/** Connections that may only read when another server has become the primary; those that are opened afterwards lead to that one. */
final class OldPrimary {

    private final DataSource real;
    private final Set<Connection> writable = ConcurrentHashMap.newKeySet();

    OldPrimary(DataSource real) {
        this.real = real;
    }

    /** From now on each write on the connections that there are fails. */
    void becomesReadOnly() {
        writable.clear();
    }

    DataSource dataSource() {
        return JdbcProxies.dataSource(real, this::connectionTo);
    }

    private Connection connectionTo(Connection connection) {
        writable.add(connection);
        return proxy(Connection.class, (proxy, method, arguments) -> {
            if (method.getName().equals("abort")) {
                // H2's driver does nothing.
                connection.close();
            }
            Object result = invoke(connection, method, arguments);
            return result instanceof PreparedStatement statement ? statementOn(connection, statement) : result;
        });
    }

    private PreparedStatement statementOn(Connection connection, PreparedStatement statement) {
        return proxy(PreparedStatement.class, (proxy, method, arguments) -> {
            if (method.getName().equals("executeUpdate") && !writable.contains(connection)) {
                throw new SQLException("cannot execute UPDATE in a read-only transaction", "25006");
            }
            return invoke(statement, method, arguments);
        });
    }
}
