package io.github.holdfast.repository.jdbc;

import io.github.holdfast.repository.LockDialect;
import io.github.holdfast.repository.SqlErrors;
import io.github.holdfast.repository.jdbc.OverdueStatements.Execution;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.time.Duration;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Limits how long the updates and commits of a store take. By default, the drivers cancel updates, and nothing cancels a commit.
 * {@linkplain #cancelling Another mode} cancels both by threads of its own. Thread-safe.
 */
public final class StatementTimeout implements AutoCloseable {

    private final LockDialect dialect;

    /** Cancels overdue statements; null if the driver does so. */
    private final @Nullable OverdueStatements overdue;

    private StatementTimeout(LockDialect dialect, @Nullable OverdueStatements overdue) {
        this.dialect = dialect;
        this.overdue = overdue;
    }

    /** Returns a timeout that relies on the database's driver. */
    static StatementTimeout ofDriver(LockDialect dialect) {
        return new StatementTimeout(dialect, null);
    }

    /**
     * Returns a timeout that cancels by threads of its own.
     *
     * @param nanoClock the local monotonic clock, in nanoseconds
     */
    public StatementTimeout cancelling(LongSupplier nanoClock) {
        return new StatementTimeout(dialect, new OverdueStatements(nanoClock));
    }

    /**
     * Watches no further statements by threads of its own. Statements already under way are still cancelled when they take too
     * long.
     */
    @Override
    public void close() {
        if (overdue != null) {
            overdue.close();
        }
    }

    private @Nullable Execution begin(Cancellation cancellation, Duration atMost) {
        return overdue == null ? null : overdue.begin(cancellation, atMost);
    }

    /**
     * Starts to watch an update, right before it.
     *
     * <p>On H2, only H2's own lock timeout applies. H2 cancels a statement only after the wait for a row, and a query timeout
     * would cost a statement. On other databases, an unwatched update has a query timeout. The drivers of PostgreSQL and MySQL
     * then wake a thread with each statement. MariaDB's driver sends {@code set statement max_statement_time}, which costs the
     * server a tenth of the time of a grant.
     *
     * @param name the lock whose row the update changes
     * @param atMost the time until the cancellation, which may come a little later
     */
    Watch beginUpdate(String name, PreparedStatement statement, Duration atMost) throws SQLException {
        if (!dialect.isWaitCancellable()) {
            return Watch.OF_NOTHING;
        }
        Cancellation cancellation = Cancellation.of(name, statement);
        Execution execution = begin(cancellation, atMost);
        if (execution == null) {
            statement.setQueryTimeout(seconds(atMost));
        }
        return new Watch(cancellation, execution);
    }

    /** Limits a query that waits for no row, right before it. The driver cancels it; on H2, nothing does, as for updates. */
    public void limitQuery(PreparedStatement statement, Duration atMost) throws SQLException {
        if (dialect.isWaitCancellable()) {
            statement.setQueryTimeout(seconds(atMost));
        }
    }

    /** Rounds a time up to whole seconds for a query timeout. */
    public static int seconds(Duration atMost) {
        return (int) Math.min(Math.max(atMost.plusMillis(999).toSeconds(), 1), Integer.MAX_VALUE);
    }

    /** Provides the connection that executes a commit. */
    interface Source {
        Connection connection() throws SQLException;
    }

    /**
     * Starts to watch a commit, right before it. A query timeout does not limit a commit, and PostgreSQL's commit waits for a
     * synchronous standby without limit. Other drivers can cancel only statements, so nothing watches their commits.
     *
     * @param source provides the commit's connection; if the connection is broken, the commit reports the error
     * @param atMost the time until the cancellation, which may come a little later
     */
    Watch beginCommit(Source source, Duration atMost) {
        try {
            Connection connection = source.connection();
            Cancellation cancellation = Cancellation.ofCommit(connection);
            if (cancellation == null) {
                return Watch.OF_NOTHING;
            }
            // Some pools do not clear the warnings of earlier commits.
            connection.clearWarnings();
            return new Watch(cancellation, begin(cancellation, atMost));
        } catch (SQLException | RuntimeException broken) {
            return Watch.OF_NOTHING;
        }
    }

    /** Watches one update or commit, and cancels it if it takes too long. */
    static final class Watch {

        private static final Watch OF_NOTHING = new Watch(null, null);

        private final @Nullable Cancellation cancellation;
        private final @Nullable Execution execution;

        private Watch(@Nullable Cancellation cancellation, @Nullable Execution execution) {
            this.cancellation = cancellation;
            this.execution = execution;
        }

        /**
         * Ends the watch, after success or failure. Call it before any other use of the connection. A late cancellation would hit
         * the next statement.
         */
        void end() {
            if (execution != null) {
                execution.end();
            }
        }

        /**
         * Verifies that a successful update or commit will last. Call it while the connection is open, because the server's
         * warnings are lost afterwards.
         *
         * @throws SQLTimeoutException without a code, if there was a cancellation; the write is then in doubt
         */
        void confirm() throws SQLTimeoutException {
            end();
            if (cancellation != null) {
                cancellation.confirm();
            }
        }

        /**
         * Returns the exception of a failed update. After a cancellation, it is the server's answer or the error of a broken
         * connection. If the driver withholds the server's answer, it is a {@link SQLTimeoutException} without a code.
         */
        SQLException failed(SQLException failed) {
            // MySQL's driver reports a cancelled statement without a code, whatever the outcome.
            return cancellation != null && cancellation.hasBegun() && SqlErrors.hasNoCode(failed)
                    ? new SQLTimeoutException("Cancelled", failed)
                    : failed;
        }
    }
}
