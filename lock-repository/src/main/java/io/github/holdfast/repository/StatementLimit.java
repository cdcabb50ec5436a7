package io.github.holdfast.repository;

import io.github.holdfast.repository.StatementWatch.Watched;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.sql.Statement;
import java.time.Duration;
import org.hibernate.dialect.Dialect;
import org.hibernate.dialect.H2Dialect;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

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
            Cancellation cancellation = new Cancellation(name, statement);
            Watched watched = watch.begin(cancellation, atMost);
            if (watched == null) {
                statement.setQueryTimeout(LockStore.seconds(atMost));
                return statement.executeUpdate();
            }
            try {
                return statement.executeUpdate();
            } catch (SQLException failed) {
                throw cancellation.explains(failed) ? new SQLTimeoutException("Cancelled", failed) : failed;
            } finally {
                watched.end();
            }
        }
    };

    private static final Logger LOG = LoggerFactory.getLogger(StatementLimit.class);

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
     *     without a code if the driver does not tell
     */
    abstract int execute(String name, PreparedStatement statement, Duration atMost, StatementWatch watch)
            throws SQLException;

    /** What cancels a statement while another thread executes it. */
    interface Driver {
        void cancel() throws SQLException;
    }

    /** Has the driver cancel a statement. */
    private static final class Cancellation implements Runnable {

        private final String name;
        private final Driver driver;
        private volatile boolean hasBegun;

        Cancellation(String name, PreparedStatement statement) {
            this.name = name;
            driver = driver(statement);
        }

        /**
         * Asked before the statement is executed: while it is, these calls may wait for its end, as MySQL's {@code getConnection()} does.
         * HikariCP takes a cancellation that cannot connect for a failure of the connection that executes the statement.
         */
        private static Driver driver(PreparedStatement statement) {
            try {
                Connection connection = statement.getConnection();
                return PostgresDriver.gave(connection)
                        ? PostgresDriver.of(connection)
                        : statement.unwrap(Statement.class)::cancel;
            } catch (SQLException | RuntimeException notGiven) {
                return statement::cancel;
            }
        }

        @Override
        public void run() {
            if (hasBegun) {
                LOG.warn(
                        "An update of the row of lock '{}' still goes on: the driver is asked again to cancel it",
                        name);
            }
            hasBegun = true;
            try {
                driver.cancel();
            } catch (SQLException | RuntimeException failed) {
                LOG.warn(
                        "An update of the row of lock '{}' takes too long and could not be cancelled: {}",
                        name,
                        failed.getMessage());
            }
        }

        /** MySQL's driver says without a code that it has cancelled the statement, however that has ended. */
        boolean explains(SQLException failed) {
            return hasBegun && SqlErrors.hasNoCode(failed);
        }
    }
}
