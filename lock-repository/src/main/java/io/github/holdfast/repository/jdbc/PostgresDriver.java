package io.github.holdfast.repository.jdbc;

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

/** Uses the features of PostgreSQL's own driver beyond JDBC. An application on another database may lack this driver. */
public final class PostgresDriver {

    private static final boolean IS_PRESENT =
            ClassUtils.isPresent("org.postgresql.PGConnection", PostgresDriver.class.getClassLoader());

    private PostgresDriver() {}

    /** Whether this driver opened the connection, or the connection inside the pool's wrapper. */
    public static boolean gave(Connection connection) throws SQLException {
        return IS_PRESENT && connection.isWrapperFor(PGConnection.class);
    }

    /** Returns the number of the server's session, as the server sent it at the login; 0 for another driver. No statement. */
    public static long session(Connection connection) throws SQLException {
        return gave(connection) ? connection.unwrap(PGConnection.class).getBackendPID() : 0;
    }

    /**
     * Whether the driver prepares statements on the server, and a pooler is in between. The pooler answers the driver's login
     * itself. So the session id of that answer differs from that of the server's session. One statement.
     */
    public static boolean preparesBehindPooler(Connection connection) throws SQLException {
        if (!gave(connection)) {
            return false;
        }
        PGConnection own = connection.unwrap(PGConnection.class);
        if (own.getPrepareThreshold() == 0 || own.getPreferQueryMode() == PreferQueryMode.SIMPLE) {
            return false;
        }
        boolean autoCommit = connection.getAutoCommit();
        // A transaction would need a ROLLBACK afterwards, and the driver would prepare that too.
        connection.setAutoCommit(true);
        try (Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery("select pg_backend_pid()")) {
            result.next();
            return result.getLong(1) != own.getBackendPID();
        } finally {
            connection.setAutoCommit(autoCommit);
        }
    }

    /** Returns a statement that the driver prepares on the server at the first execution. */
    public static PreparedStatement preparedAtOnce(Connection connection, String text) throws SQLException {
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
     * Whether the server has warned that a cancellation ended its wait for a synchronous standby. The standby may lack the
     * commit. The text of the warning depends on the server's language, but the name of the server's routine does not
     * (https://github.com/postgres/postgres/blob/REL_18_0/src/backend/replication/syncrep.c).
     *
     * @param warnings the warnings of a statement or connection of this driver
     */
    static boolean reportsMissingStandby(@Nullable SQLWarning warnings) {
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
     * Returns an object that cancels the current execution of a connection, through another connection. It does not report an
     * unreachable server. The statement's own {@code cancel()} works only once for each execution, whatever the outcome
     * (https://github.com/pgjdbc/pgjdbc/blob/REL42.7.11/pgjdbc/src/main/java/org/postgresql/jdbc/PgStatement.java).
     */
    static Cancellation.Driver of(Connection connection) throws SQLException {
        return connection.unwrap(PGConnection.class)::cancelQuery;
    }
}
