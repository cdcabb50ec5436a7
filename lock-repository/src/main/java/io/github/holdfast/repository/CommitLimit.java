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
        void execute() throws SQLException;
    }

    /** Where the commit is executed. */
    interface Source {
        Connection connection() throws SQLException;
    }

    /**
     * Commits, whatever becomes of the limit.
     *
     * @param source of the connection on which the commit is executed
     * @throws SQLTimeoutException if the commit ended after its cancellation had begun: nobody knows whether it lasts
     * @throws SQLException if the commit failed
     */
    void execute(Source source, Commit commit) throws SQLException {
        Cancellation.Driver driver = driver(source);
        if (driver == null) {
            commit.execute();
            return;
        }
        Cancellation cancellation = Cancellation.ofCommit(driver);
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

    /** If the connection is broken, the commit tells so, and ends its transaction here. */
    private static Cancellation.@Nullable Driver driver(Source source) {
        try {
            Connection connection = source.connection();
            return PostgresDriver.gave(connection) ? PostgresDriver.of(connection) : null;
        } catch (SQLException | RuntimeException broken) {
            return null;
        }
    }
}
