package io.github.holdfast.repository;

import io.github.holdfast.repository.StatementWatch.Watched;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.time.Duration;
import org.hibernate.dialect.Dialect;
import org.hibernate.dialect.H2Dialect;

/** How updates that wait for a row for too long come to their end. */
enum StatementLimit {
    /** By H2's own lock timeout. It cancels a statement only when the wait is over, and to tell it the time costs a statement. */
    OF_SERVER {
        @Override
        int execute(String name, PreparedStatement statement, Duration atMost, StatementWatch watch)
                throws SQLException {
            return statement.executeUpdate();
        }
    },

    /**
     * By a watch, if there is one, and else by the query timeout. For that the drivers of PostgreSQL and MySQL wake a thread with each
     * statement, and MariaDB's sends {@code set statement max_statement_time}, which takes the server a tenth of the time of a grant.
     */
    OF_WATCH {
        @Override
        int execute(String name, PreparedStatement statement, Duration atMost, StatementWatch watch)
                throws SQLException {
            Cancellation cancellation = Cancellation.of(name, statement);
            Watched watched = watch.begin(cancellation, atMost);
            if (watched == null) {
                statement.setQueryTimeout(LockStore.seconds(atMost));
            }
            int changed;
            try {
                changed = statement.executeUpdate();
            } catch (SQLException failed) {
                // MySQL's driver says without a code that it has cancelled the statement, however that has ended.
                throw cancellation.hasBegun() && SqlErrors.hasNoCode(failed)
                        ? new SQLTimeoutException("Cancelled", failed)
                        : failed;
            } finally {
                if (watched != null) {
                    watched.end();
                }
            }
            if (changed > 0) {
                cancellation.confirm();
            }
            return changed;
        }
    };

    static StatementLimit of(Dialect dialect) {
        return dialect instanceof H2Dialect ? OF_SERVER : OF_WATCH;
    }

    /**
     * Executes an update.
     *
     * @param name of the lock whose row it changes
     * @param atMost after which time it is to be cancelled, or a little later
     * @return how many rows it changed
     * @throws SQLException also if it was cancelled: the server's own answer, or that the connection broke, or a {@link SQLTimeoutException}
     *     without a code if the driver does not tell, or if it changed rows and yet was cancelled: nobody knows whether that lasts
     */
    abstract int execute(String name, PreparedStatement statement, Duration atMost, StatementWatch watch)
            throws SQLException;
}
