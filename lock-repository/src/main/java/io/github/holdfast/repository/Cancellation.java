package io.github.holdfast.repository;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.sql.Statement;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Cancels what a connection executes, if it takes too long. One thread at a time runs it; any may ask whether it has begun.
 *
 * <p>What ends well after its cancellation has begun is in doubt. PostgreSQL commits first and then waits for its synchronous standby;
 * a cancellation ends that wait, and the client is told success
 * (https://www.postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION). After a failover, the commit never was.
 */
final class Cancellation implements Runnable {

    private static final Logger LOG = LoggerFactory.getLogger(Cancellation.class);

    private final @Nullable String name;
    private final Driver driver;
    private volatile boolean hasBegun;

    /** What cancels what a connection executes while another thread waits for it. */
    interface Driver {
        void cancel() throws SQLException;
    }

    private Cancellation(@Nullable String name, Driver driver) {
        this.name = name;
        this.driver = driver;
    }

    /** Of an update of the row of this lock. */
    static Cancellation of(String name, PreparedStatement update) {
        return new Cancellation(name, driver(update));
    }

    /** Of a commit. */
    static Cancellation ofCommit(Driver driver) {
        return new Cancellation(null, driver);
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

    /** What says that a write ended well, but may be undone by a failover. */
    static SQLTimeoutException inDoubt() {
        return new SQLTimeoutException(
                "The write ended after its cancellation had begun: a server that waits for a standby ends the wait then, and a"
                        + " failover may undo the write");
    }

    @Override
    public String toString() {
        return name == null ? "A commit of a lock operation" : "An update of the row of lock '" + name + "'";
    }
}
