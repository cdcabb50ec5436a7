package io.github.holdfast.liquibase;

import java.lang.ref.WeakReference;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import liquibase.database.Database;
import liquibase.database.DatabaseConnection;
import liquibase.database.jvm.JdbcConnection;
import liquibase.exception.DatabaseException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A lock that this process holds. One thread renews its lease every third of it, and another one notices its end. If the lease is lost,
 * the connection of the run is aborted. Thread-safe.
 */
final class LiquibaseHold {

    private static final Logger LOG = LoggerFactory.getLogger(LiquibaseHold.class);

    private final LiquibaseLockRow row;
    private final String owner;
    private final long token;
    private final WeakReference<Database> database;
    private final CountDownLatch end = new CountDownLatch(1);

    /** Not a monitor: a virtual thread that releases would block its carrier until the database answers, before JDK 24. */
    private final ReentrantLock sending = new ReentrantLock();

    /** When the last successful renewal was sent, by the local clock. */
    private volatile long renewedAt;

    private volatile boolean isLost;

    private LiquibaseHold(LiquibaseLockRow row, String owner, long token, Database database, long sentAt) {
        this.row = row;
        this.owner = owner;
        this.token = token;
        this.database = new WeakReference<>(database);
        this.renewedAt = sentAt;
    }

    /**
     * Keeps a lock that was granted.
     *
     * @param sentAt when the grant was sent, by {@link System#nanoTime}
     */
    static LiquibaseHold keep(LiquibaseLockRow row, String owner, long token, Database database, long sentAt) {
        LiquibaseHold lock = new LiquibaseHold(row, owner, token, database, sentAt);
        start("holdfast-liquibase-lease", lock::renewUntilTheEnd);
        start("holdfast-liquibase-expiry", lock::watchUntilTheEnd);
        return lock;
    }

    private static void start(String name, Runnable work) {
        Thread thread = new Thread(null, work, name, 0, false);
        thread.setDaemon(true);
        thread.setContextClassLoader(LiquibaseHold.class.getClassLoader());
        thread.start();
    }

    boolean isLost() {
        return isLost;
    }

    /**
     * Ends the renewals, and releases the lock if it is not lost. One statement.
     *
     * @return false if the lock was lost before
     * @throws SQLException if the database failed. The lock then ends with its lease
     */
    boolean release() throws SQLException {
        end();
        sending.lock();
        try {
            return !isLost && row.release(owner, token);
        } finally {
            sending.unlock();
        }
    }

    /** Ends the renewals. The lock then ends with its lease. */
    void end() {
        end.countDown();
    }

    private void renewUntilTheEnd() {
        Duration pause = row.lease().dividedBy(3);
        try {
            while (!end.await(pause.toNanos(), TimeUnit.NANOSECONDS)) {
                if (isRunOver()) {
                    releaseAfterTheRun();
                } else {
                    // After a failure, there is time for several attempts before the lease expires.
                    pause = row.lease().dividedBy(renew() ? 3 : 20);
                }
            }
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
    }

    /** Notices the end of the lease, even while a renewal waits for a connection or an answer. */
    private void watchUntilTheEnd() {
        long lease = row.lease().toNanos();
        try {
            long left = lease;
            while (!end.await(left, TimeUnit.NANOSECONDS)) {
                left = renewedAt + lease - System.nanoTime();
                if (left <= 0) {
                    lose("the database did not answer its renewals in time");
                }
            }
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
    }

    /** Renews the lease; false if the database failed. */
    private boolean renew() {
        sending.lock();
        try {
            return end.getCount() == 0 || sendRenewal();
        } finally {
            sending.unlock();
        }
    }

    private boolean sendRenewal() {
        long sentAt = System.nanoTime();
        try {
            if (row.extend(owner, token)) {
                renewedAt = sentAt;
            } else {
                lose("another process has it, or an operator has released it, or its lease ended");
            }
            return true;
        } catch (SQLException | RuntimeException failed) {
            LOG.warn("The lease of Liquibase's lock '{}' was not renewed; trying again", row.name(), failed);
            return false;
        }
    }

    private void lose(String reason) {
        if (isLost) {
            return;
        }
        isLost = true;
        end();
        // First of all: the run may be about to commit.
        abort();
        LOG.error(
                "Liquibase's lock '{}' is lost: {}. Its run is being aborted. Check which change sets have run: another process"
                        + " may have run the same ones at the same time",
                row.name(),
                reason);
    }

    /**
     * Aborts the connection of the run, from this thread. Liquibase asks for its lock only at the begin. Without a connection, it
     * cannot commit, and fails. H2's driver does nothing.
     */
    private void abort() {
        Database running = database.get();
        if (running != null && running.getConnection() instanceof JdbcConnection connection) {
            try {
                connection.getUnderlyingConnection().abort(Runnable::run);
            } catch (SQLException | RuntimeException failed) {
                LOG.error("The run without a lock could not be aborted", failed);
            }
        }
    }

    /** Whether the run cannot go on, although it has not given back its lock. */
    private boolean isRunOver() {
        Database running = database.get();
        if (running == null) {
            return true;
        }
        DatabaseConnection connection = running.getConnection();
        try {
            return connection == null || connection.isClosed();
        } catch (DatabaseException unknown) {
            LOG.debug("Whether the connection of the run is closed is unknown", unknown);
            return false;
        }
    }

    private void releaseAfterTheRun() {
        LOG.warn("Liquibase's run has ended without giving back its lock '{}'", row.name());
        try {
            boolean unused = release();
        } catch (SQLException | RuntimeException failed) {
            LOG.warn("The lock ends with its lease", failed);
        }
    }
}
