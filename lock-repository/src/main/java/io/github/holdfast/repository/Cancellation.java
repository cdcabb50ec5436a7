package io.github.holdfast.repository;

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
 * Cancels what a connection executes, if it takes too long. One thread at a time runs it; any may ask whether it has begun.
 *
 * <p>What ends well after its cancellation has begun is in doubt. PostgreSQL commits first and then waits for its synchronous standby;
 * a cancellation ends that wait, and the client is told success, with a warning
 * (https://www.postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION). After a failover, the commit never was. The
 * warning tells of an administrator's cancellation too; MariaDB's server has none.
 */
final class Cancellation implements Runnable {

    private static final Logger LOG = LoggerFactory.getLogger(Cancellation.class);

    private final @Nullable String name;
    private final Driver driver;
    private final Warnings warnings;
    private volatile boolean hasBegun;

    /** What cancels what a connection executes while another thread waits for it. */
    interface Driver {
        void cancel() throws SQLException;
    }

    /** What a server has told besides success. */
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
     * Of an update of the row of this lock.
     *
     * <p>Asked before the statement is executed: while it is, these calls may wait for its end, as MySQL's {@code getConnection()} does.
     * HikariCP takes a cancellation that cannot connect for a failure of the connection that executes the statement.
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

    /** Of a commit on this connection; null if its driver cancels nothing but statements. */
    static @Nullable Cancellation ofCommit(Connection connection) throws SQLException {
        return PostgresDriver.gave(connection)
                ? new Cancellation(null, PostgresDriver.of(connection), connection::getWarnings)
                : null;
    }

    @Override
    public void run() {
        if (hasBegun) {
            LOG.warn("{} still goes on: the driver is asked again to cancel it", this);
        }
        hasBegun = true;
        try {
            driver.cancel();
        } catch (SQLException | RuntimeException failed) {
            LOG.warn("{} takes too long and could not be cancelled: {}", this, failed.getMessage());
        }
    }

    /** Whether the server may have been asked. */
    boolean hasBegun() {
        return hasBegun;
    }

    /**
     * Makes sure that what has ended well lasts.
     *
     * @throws SQLTimeoutException if a cancellation, this one or somebody else's, may have ended it
     */
    void confirm() throws SQLTimeoutException {
        if (hasBegun || PostgresDriver.toldOfMissingStandby(warned())) {
            throw inDoubt();
        }
    }

    /** What broke after its answer has warned of nothing that can still be read. */
    private @Nullable SQLWarning warned() {
        try {
            return warnings.get();
        } catch (SQLException closed) {
            return null;
        }
    }

    /** What says that a write ended well, but may be undone by a failover. */
    static SQLTimeoutException inDoubt() {
        return new SQLTimeoutException(
                "The write ended by a cancellation, or after one had begun: a server that waits for a standby ends the wait then, and"
                        + " a failover may undo the write");
    }

    @Override
    public String toString() {
        return name == null ? "A commit of a lock operation" : "An update of the row of lock '" + name + "'";
    }
}
