package io.github.holdfast.repository;

import io.github.holdfast.repository.StatementWatch.Watched;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A commit that is cancelled if it takes too long. No query timeout counts for a commit, and PostgreSQL's waits for a synchronous standby
 * without an end. Other drivers cancel nothing but statements, and their commits are not watched.
 */
final class WatchedCommit {

    private static final WatchedCommit UNWATCHED = new WatchedCommit(null, null);

    private final @Nullable Cancellation cancellation;
    private final @Nullable Watched watched;

    private WatchedCommit(@Nullable Cancellation cancellation, @Nullable Watched watched) {
        this.cancellation = cancellation;
        this.watched = watched;
    }

    /** Where the commit is executed. */
    interface Source {
        Connection connection() throws SQLException;
    }

    /**
     * Right before the commit.
     *
     * @param source of its connection; if that is broken, the commit tells so
     * @param atMost after which time it is cancelled, or a little later
     */
    static WatchedCommit begin(Source source, StatementWatch watch, Duration atMost) {
        try {
            Connection connection = source.connection();
            Cancellation cancellation = Cancellation.ofCommit(connection);
            if (cancellation == null) {
                return UNWATCHED;
            }
            // What was told of earlier commits, some pools leave.
            connection.clearWarnings();
            return new WatchedCommit(cancellation, watch.begin(cancellation, atMost));
        } catch (SQLException | RuntimeException broken) {
            return UNWATCHED;
        }
    }

    /** It has ended, well or not. Before its connection is anybody else's: a cancellation would hit what is executed next. */
    void end() {
        if (watched != null) {
            watched.end();
        }
    }

    /**
     * It has ended well. As long as the connection is open, which forgets what the server has told when it is closed.
     *
     * @throws SQLTimeoutException if a cancellation may have ended it: nobody knows whether it lasts
     */
    void confirm() throws SQLTimeoutException {
        end();
        if (cancellation != null) {
            cancellation.confirm();
        }
    }
}
