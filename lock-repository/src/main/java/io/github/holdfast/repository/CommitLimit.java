package io.github.holdfast.repository;

import io.github.holdfast.repository.StatementWatch.Watched;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Ends commits that wait for too long. No query timeout counts for a commit, and PostgreSQL's waits for a synchronous standby without
 * an end. Other drivers cancel nothing but statements.
 *
 * @param watch that asks for the cancellation
 * @param atMost after which time it does, or a little later
 */
record CommitLimit(StatementWatch watch, Duration atMost) {

    /** What commits. */
    interface Commit {
        /**
         * Commits.
         *
         * @param confirmation to be made when the connection has committed, as long as it is open
         */
        void execute(Confirmation confirmation) throws SQLException;
    }

    /** Makes sure that a commit lasts. */
    interface Confirmation {
        /**
         * Makes sure of it.
         *
         * @throws SQLTimeoutException if nobody knows whether the commit lasts
         */
        void make() throws SQLException;
    }

    /** Where the commit is executed. */
    interface Source {
        Connection connection() throws SQLException;
    }

    /**
     * Commits, whatever becomes of the limit.
     *
     * @param source of the connection on which the commit is executed
     * @throws SQLTimeoutException if the commit ended by a cancellation, or after one had begun: nobody knows whether it lasts
     * @throws SQLException if the commit failed
     */
    void execute(Source source, Commit commit) throws SQLException {
        Cancellation cancellation = cancellation(source);
        if (cancellation == null) {
            commit.execute(() -> {});
            return;
        }
        Watched watched = watch.begin(cancellation, atMost);
        try {
            commit.execute(cancellation::confirm);
        } finally {
            if (watched != null) {
                watched.end();
            }
        }
        if (cancellation.hasBegun()) {
            throw Cancellation.inDoubt();
        }
    }

    /** If the connection is broken, the commit tells so, and ends its transaction here. */
    private static @Nullable Cancellation cancellation(Source source) {
        try {
            Connection connection = source.connection();
            Cancellation cancellation = Cancellation.ofCommit(connection);
            if (cancellation != null) {
                // What was told of earlier commits, some pools leave.
                connection.clearWarnings();
            }
            return cancellation;
        } catch (SQLException | RuntimeException broken) {
            return null;
        }
    }
}
