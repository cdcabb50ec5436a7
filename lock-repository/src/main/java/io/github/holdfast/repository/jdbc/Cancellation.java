package io.github.holdfast.repository.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.sql.SQLWarning;
import java.sql.Statement;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Cancels a statement or commit that takes too long. One thread at a time runs the cancellation. Any thread may check whether it
 * has begun.
 *
 * <p>If a write succeeds after its cancellation has begun, the write is in doubt. PostgreSQL commits first and then waits for its
 * synchronous standby. A cancellation ends that wait, and the client receives success with a warning
 * (https://www.postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION). A failover may then undo the commit. An
 * administrator's cancellation causes the same warning. MariaDB's server has no such warning.
 */
final class Cancellation implements Runnable {

    private static final Logger LOG = LoggerFactory.getLogger(Cancellation.class);

    private final @Nullable String name;
    private final Driver driver;
    private final Warnings warnings;
    private volatile boolean hasBegun;

    /** Cancels the current execution on a connection. Another thread waits for the result of that execution. */
    interface Driver {
        void cancel() throws SQLException;
    }

    /** Reads the warnings in the server's answer. */
    private interface Warnings {
        @Nullable
        SQLWarning get() throws SQLException;
    }

    private Cancellation(@Nullable String name, Driver driver, Warnings warnings) {
        this.name = name;
        this.driver = driver;
        this.warnings = warnings;
    }

    /**
     * Returns the cancellation of an update of this lock's row.
     *
     * <p>Call this method before you execute the statement. During the execution, the driver calls made here may block until it
     * ends, as MySQL's {@code getConnection()} does. The cancellation bypasses HikariCP where possible. Otherwise, if a
     * cancellation cannot connect, HikariCP blames the connection that executes the statement.
     */
    static Cancellation of(String name, PreparedStatement update) {
        try {
            Connection connection = update.getConnection();
            return PostgresDriver.gave(connection)
                    ? new Cancellation(name, PostgresDriver.of(connection), update::getWarnings)
                    : new Cancellation(name, update.unwrap(Statement.class)::cancel, () -> null);
        } catch (SQLException | RuntimeException notGiven) {
            return new Cancellation(name, update::cancel, () -> null);
        }
    }

    /** Returns the cancellation of a commit on this connection; null if its driver can cancel only statements. */
    static @Nullable Cancellation ofCommit(Connection connection) throws SQLException {
        return PostgresDriver.gave(connection)
                ? new Cancellation(null, PostgresDriver.of(connection), connection::getWarnings)
                : null;
    }

    @Override
    public void run() {
        if (hasBegun) {
            LOG.warn("{} is still running: cancelling it again", this);
        }
        hasBegun = true;
        try {
            driver.cancel();
        } catch (SQLException | RuntimeException failed) {
            LOG.warn("{} takes too long and could not be cancelled: {}", this, failed.getMessage());
        }
    }

    /** Whether a cancellation may have been sent to the server. */
    boolean hasBegun() {
        return hasBegun;
    }

    /**
     * Verifies that a successful write will last.
     *
     * @throws SQLTimeoutException if this cancellation, or an administrator's, may have ended the write
     */
    void confirm() throws SQLTimeoutException {
        if (hasBegun || PostgresDriver.reportsMissingStandby(warned())) {
            throw inDoubt();
        }
    }

    /** Returns the warnings. Null if the connection broke after the answer, because the warnings are unreadable then. */
    private @Nullable SQLWarning warned() {
        try {
            return warnings.get();
        } catch (SQLException closed) {
            return null;
        }
    }

    /** Returns the error for a successful write that a failover may undo. */
    static SQLTimeoutException inDoubt() {
        return new SQLTimeoutException(
                "The write succeeded while it was being cancelled. A cancellation ends the server's wait for a standby,"
                        + " so a failover may undo the write");
    }

    @Override
    public String toString() {
        return name == null ? "A commit of a lock operation" : "An update of the row of lock '" + name + "'";
    }
}
