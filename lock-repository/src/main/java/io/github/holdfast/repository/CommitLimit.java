package io.github.holdfast.repository;

import io.github.holdfast.repository.StatementWatch.Watched;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.time.Duration;

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
        void execute() throws SQLException;
    }

    /**
     * Commits.
     *
     * @param connection on which the commit is executed
     * @throws SQLTimeoutException if the commit ended after its cancellation had begun: nobody knows whether it lasts
     * @throws SQLException if the commit failed
     */
    void execute(Connection connection, Commit commit) throws SQLException {
        if (!PostgresDriver.gave(connection)) {
            commit.execute();
            return;
        }
        Cancellation cancellation = Cancellation.ofCommit(PostgresDriver.of(connection));
        Watched watched = watch.begin(cancellation, atMost);
        try {
            commit.execute();
        } finally {
            if (watched != null) {
                watched.end();
            }
        }
        if (cancellation.hasBegun()) {
            throw Cancellation.inDoubt();
        }
    }
}
