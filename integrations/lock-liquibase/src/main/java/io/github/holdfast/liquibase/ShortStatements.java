package io.github.holdfast.liquibase;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.util.Optional;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.postgresql.util.PSQLWarning;

/**
 * Runs short statements, each on a connection that is given back at once. A connection that was kept for long might be broken when it is
 * needed. Thread-safe.
 */
final class ShortStatements {

    /** Longer than the database needs, shorter than people wait. */
    private static final int TIMEOUT_SECONDS = 10;

    private final DataSource dataSource;

    ShortStatements(DataSource dataSource) {
        this.dataSource = dataSource;
    }

    /** What is done with a connection, or with the row of a result. */
    interface Work<A, T> {
        T on(A argument) throws SQLException;
    }

    /** Returns the first row. */
    <T> Optional<T> query(String sql, Work<ResultSet, T> row, Object... arguments) throws SQLException {
        return on(true, connection -> {
            try (PreparedStatement statement = prepare(connection, sql, arguments);
                    ResultSet rows = statement.executeQuery()) {
                return rows.next() ? Optional.of(row.on(rows)) : Optional.empty();
            }
        });
    }

    /** Updates rows, and commits. Fails too if a failover may undo the commit. */
    int update(String sql, Object... arguments) throws SQLException {
        return on(true, connection -> update(connection, sql, arguments));
    }

    /** Commits what the work has done, by a statement, because a commit by the driver has no time limit. If it fails, rolls back. */
    <T> T inTransaction(Work<Connection, T> work) throws SQLException {
        return on(false, connection -> {
            try {
                T result = work.on(connection);
                int unused = update(connection, "commit");
                return result;
            } catch (SQLException failed) {
                connection.rollback();
                throw failed;
            }
        });
    }

    /** Updates rows, in the transaction of the connection. */
    static int update(Connection connection, String sql, @Nullable Object... arguments) throws SQLException {
        try (PreparedStatement statement = prepare(connection, sql, arguments)) {
            int updated = statement.executeUpdate();
            if (SqlDialect.of(connection) == SqlDialect.POSTGRESQL) {
                Postgres.confirm(statement);
            }
            return updated;
        }
    }

    /** Loaded only with PostgreSQL's driver. */
    private static final class Postgres {

        /**
         * Verifies that a successful write will last. PostgreSQL commits, and then waits for its synchronous standby. The end of the time
         * limit ends that wait, and the client receives success with a warning
         * (https://www.postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION). Its text depends on the server's language,
         * but the name of the server's routine does not.
         */
        static void confirm(Statement write) throws SQLException {
            for (SQLWarning warning = write.getWarnings(); warning != null; warning = warning.getNextWarning()) {
                if (warning instanceof PSQLWarning told
                        && told.getServerErrorMessage() != null
                        && "SyncRepWaitForLSN"
                                .equals(told.getServerErrorMessage().getRoutine())) {
                    throw new SQLTimeoutException(
                            "No synchronous standby has confirmed the write in time, so a failover may undo it: "
                                    + warning.getMessage());
                }
            }
        }
    }

    /** Prepares a statement. Its arguments are numbers and texts. */
    private static PreparedStatement prepare(Connection connection, String sql, @Nullable Object... arguments)
            throws SQLException {
        PreparedStatement statement =
                connection.prepareStatement(SqlDialect.of(connection).complete(sql));
        try {
            statement.setQueryTimeout(TIMEOUT_SECONDS);
            for (int i = 0; i < arguments.length; i++) {
                if (arguments[i] instanceof Long number) {
                    statement.setLong(i + 1, number);
                } else {
                    statement.setString(i + 1, (String) arguments[i]);
                }
            }
            return statement;
        } catch (SQLException failed) {
            statement.close();
            throw failed;
        }
    }

    /** Works in this autocommit mode, and restores that of the connection. */
    private <T> T on(boolean autocommit, Work<Connection, T> work) throws SQLException {
        try (Connection connection = dataSource.getConnection()) {
            boolean before = connection.getAutoCommit();
            if (before != autocommit) {
                connection.setAutoCommit(autocommit);
            }
            try {
                return work.on(connection);
            } finally {
                if (before != autocommit) {
                    connection.setAutoCommit(before);
                }
            }
        }
    }
}
