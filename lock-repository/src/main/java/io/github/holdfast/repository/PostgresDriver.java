package io.github.holdfast.repository;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.jdbc.PreferQueryMode;
import org.postgresql.util.PSQLWarning;
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
     * Whether the driver prepares statements on the server, and the server's session is not the one that the driver was told of when it
     * connected: a pooler answers that by itself. One statement.
     */
    static boolean preparesBehindPooler(Connection connection) throws SQLException {
        if (!gave(connection)) {
            return false;
        }
        PGConnection own = connection.unwrap(PGConnection.class);
        if (own.getPrepareThreshold() == 0 || own.getPreferQueryMode() == PreferQueryMode.SIMPLE) {
            return false;
        }
        boolean autoCommit = connection.getAutoCommit();
        // Otherwise the transaction would have to be ended, by a ROLLBACK that is prepared.
        connection.setAutoCommit(true);
        try (Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery("select pg_backend_pid()")) {
            result.next();
            return result.getLong(1) != own.getBackendPID();
        } finally {
            connection.setAutoCommit(autoCommit);
        }
    }

    /** Returns a statement that is prepared on the server when it is executed for the first time. */
    static PreparedStatement preparedAtOnce(Connection connection, String text) throws SQLException {
        PGConnection own = connection.unwrap(PGConnection.class);
        int threshold = own.getPrepareThreshold();
        own.setPrepareThreshold(1);
        try {
            return connection.prepareStatement(text);
        } finally {
            own.setPrepareThreshold(threshold);
        }
    }

    /**
     * Whether the server has told that it no longer waits for a synchronous standby, because somebody has cancelled the wait: what it
     * has committed, the standby may not have. The text depends on the server's language, the routine does not
     * (https://github.com/postgres/postgres/blob/REL_18_0/src/backend/replication/syncrep.c).
     *
     * @param warnings of a statement or connection of this driver
     */
    static boolean toldOfMissingStandby(@Nullable SQLWarning warnings) {
        for (SQLWarning warning = warnings; warning != null; warning = warning.getNextWarning()) {
            if (warning instanceof PSQLWarning told
                    && told.getServerErrorMessage() != null
                    && "SyncRepWaitForLSN".equals(told.getServerErrorMessage().getRoutine())) {
                return true;
            }
        }
        return false;
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
