package io.github.holdfast.repository;

import java.sql.Connection;
import java.sql.SQLException;
import org.postgresql.PGConnection;
import org.springframework.util.ClassUtils;

/** What PostgreSQL's own JDBC driver can do beyond JDBC. An application on another database does not have it. */
final class PostgresDriver {

    private static final boolean IS_PRESENT =
            ClassUtils.isPresent("org.postgresql.PGConnection", PostgresDriver.class.getClassLoader());

    private PostgresDriver() {}

    /** Whether the connection, or what a pool has wrapped in it, is this driver's. */
    static boolean gave(Connection connection) throws SQLException {
        return IS_PRESENT && connection.isWrapperFor(PGConnection.class);
    }

    /**
     * What cancels that which the connection executes, through another connection. That the server could not be reached is not told. The
     * statement's own {@code cancel()} does the same, but only once for each execution, whatever comes of it
     * (https://github.com/pgjdbc/pgjdbc/blob/REL42.7.11/pgjdbc/src/main/java/org/postgresql/jdbc/PgStatement.java).
     */
    static Cancellation.Driver of(Connection connection) throws SQLException {
        return connection.unwrap(PGConnection.class)::cancelQuery;
    }
}
