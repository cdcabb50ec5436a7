package io.github.holdfast.liquibase;

import io.github.holdfast.liquibase.LiquibaseLockRow.Seen;
import io.github.holdfast.liquibase.LiquibaseLockRow.State;
import io.github.holdfast.repository.ReadableDuration;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.time.Instant;
import java.util.Date;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import liquibase.Scope;
import liquibase.changelog.ChangeLogHistoryServiceFactory;
import liquibase.database.Database;
import liquibase.exception.DatabaseException;
import liquibase.exception.LockException;
import liquibase.lockservice.DatabaseChangeLogLock;
import liquibase.lockservice.LockService;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Liquibase's view of the lock. Liquibase creates it, because {@code META-INF/services} names it. Applications do not use it: see
 * {@link LiquibaseLock}.
 */
public final class ChangeLogLockService implements LockService {

    private static final Logger LOG = LoggerFactory.getLogger(ChangeLogLockService.class);

    /** Above Liquibase's own services, and those for one kind of database. */
    private static final int PRIORITY = 10;

    private static final String FORCED = "Liquibase was asked to release its locks";

    private @Nullable Database database;
    private @Nullable Duration waitTime;
    private @Nullable Duration recheckTime;

    /** Called by Liquibase. */
    public ChangeLogLockService() {}

    @Override
    public int getPriority() {
        return PRIORITY;
    }

    /** Whether {@link LiquibaseLock#protect} was called for the database. */
    @Override
    public boolean supports(Database candidate) {
        return ProtectedDatabase.find(candidate).isPresent();
    }

    @Override
    public void setDatabase(Database database) {
        this.database = database;
    }

    /** Sets how long to wait for the lock, in minutes. */
    @Override
    public void setChangeLogLockWaitTime(long minutes) {
        waitTime = Duration.ofMinutes(minutes);
    }

    /** Sets the longest pause between two reads of the lock, in seconds. */
    @Override
    public void setChangeLogLockRecheckTime(long seconds) {
        recheckTime = Duration.ofSeconds(seconds);
    }

    /** Does nothing: {@link #acquireLock} creates missing tables. */
    @Override
    public void init() {}

    @Override
    public boolean hasChangeLogLock() {
        return target().held() != null;
    }

    /**
     * Waits for the lock, for as long as Liquibase is configured to wait.
     *
     * @throws LockException if another owner has the lock for all that time, the database failed, or the thread was interrupted
     */
    @Override
    public void waitForLock() throws LockException {
        WaitLimit limit = new WaitLimit(waitTime, recheckTime);
        Optional<Seen> obstacle = attempt();
        while (obstacle.isPresent()) {
            limit.pause(row().name(), obstacle.get());
            obstacle = attempt();
        }
    }

    /**
     * Acquires the lock if it is free. At most two statements if the row and the tables exist.
     *
     * @return false if another owner has it
     * @throws LockException if the database failed
     */
    @Override
    public boolean acquireLock() throws LockException {
        return attempt().isEmpty();
    }

    /** Acquires the lock; returns what is in the way. */
    private Optional<Seen> attempt() throws LockException {
        if (hasChangeLogLock()) {
            return Optional.empty();
        }
        endTransaction();
        LiquibaseLockRow row = row();
        try {
            Seen seen = row.readOrCreate();
            if (seen.state() == State.NODE_OVER) {
                row.endNode(Objects.requireNonNull(seen.nodeId()));
                seen = row.readOrCreate();
            }
            String owner = UUID.randomUUID().toString();
            long sentAt = System.nanoTime();
            if (seen.state() != State.FREE || !row.grant(seen, owner, Holder.current(settings()))) {
                return Optional.of(seen);
            }
            target().hold(LiquibaseHold.keep(row, owner, seen.token() + 1, database(), sentAt));
            readHistoryAgain();
            return Optional.empty();
        } catch (SQLException | IllegalStateException failed) {
            throw failure("acquired", failed);
        }
    }

    /**
     * Lets Liquibase read again which change sets have run: it read them before it waited. {@link #endTransaction} has made sure that it
     * will not read them in an old snapshot. Other runs in this JVM keep what they have read: they may be using it.
     */
    private void readHistoryAgain() {
        Scope.getCurrentScope()
                .getSingleton(ChangeLogHistoryServiceFactory.class)
                .getChangeLogService(database())
                .reset();
        database().setCanCacheLiquibaseTableInfo(true);
    }

    /** Ends the transaction of Liquibase's connection, which has changed nothing yet, or is not to commit what it has changed. */
    private void endTransaction() throws LockException {
        try {
            database().rollback();
        } catch (DatabaseException failed) {
            throw new LockException(failed);
        }
    }

    /**
     * Releases the lock if this process has it. One statement.
     *
     * @throws LockException if the database failed. The lock then ends with its lease
     */
    @Override
    public void releaseLock() throws LockException {
        LiquibaseHold held = target().forget();
        if (held == null) {
            return;
        }
        database().setCanCacheLiquibaseTableInfo(false);
        try {
            endTransaction();
        } catch (LockException failed) {
            LOG.debug("Liquibase's connection could not be rolled back", failed);
        }
        boolean wasKnown = held.isLost();
        try {
            if (!held.release() && !wasKnown) {
                LOG.error(
                        "Liquibase's lock '{}' was lost before the end of the run. Another process may have run the same"
                                + " change sets at the same time",
                        row().name());
            }
        } catch (SQLException | IllegalStateException failed) {
            if (failed instanceof SQLException refused && LiquibaseLockRow.isTableMissing(refused)) {
                // Liquibase was asked to drop everything, and that was the end of the lock.
                return;
            }
            throw failure("released; it ends with its lease, within " + new ReadableDuration(row().lease()), failed);
        }
    }

    /**
     * Returns the lock if an owner holds it. One statement.
     *
     * @throws LockException if the database failed
     */
    @Override
    public DatabaseChangeLogLock[] listLocks() throws LockException {
        try {
            Seen seen = row().readOrCreate();
            Instant acquiredAt = seen.acquiredAt();
            return seen.state() == State.HELD && acquiredAt != null
                    ? new DatabaseChangeLogLock[] {
                        new DatabaseChangeLogLock(1, Date.from(acquiredAt), seen.description())
                    }
                    : new DatabaseChangeLogLock[0];
        } catch (SQLException | IllegalStateException failed) {
            throw failure("read", failed);
        }
    }

    /**
     * Takes the lock from its holder, even if that one is alive, and adds a record to {@code lock_audit}. The next run waits until the
     * end of the previous holder's lease. If no owner holds the lock, nothing happens.
     *
     * @throws LockException if the database failed, or if the lock is held without a lease: then a service of an application has it,
     *     and can release it by force
     */
    @Override
    public void forceReleaseLock() throws LockException {
        LiquibaseHold own = target().forget();
        if (own != null) {
            own.end();
        }
        LiquibaseLockRow row = row();
        try {
            Seen seen = row.readOrCreate();
            while (isHeldByLease(seen) && !row.takeFromHolder(seen, Holder.current(settings()), FORCED)) {
                seen = row.readOrCreate();
            }
        } catch (SQLException | IllegalStateException failed) {
            throw failure("released by force", failed);
        }
    }

    private static boolean isHeldByLease(Seen seen) throws LockException {
        if (seen.state() == State.HELD && seen.untilFree() == null) {
            throw new LockException("The lock is held without a lease by " + seen.description()
                    + ": release it with LockAdmin.forceRelease, the endpoint or the console of Holdfast");
        }
        return seen.state() == State.HELD;
    }

    /** Does nothing: Liquibase calls it when any run in this JVM ends, and the lock of another one must stay. */
    @Override
    public void reset() {}

    /** Forgets the lock, whose table may be dropped by now. The table of the locks is not Liquibase's, so it stays. */
    @Override
    public void destroy() {
        LiquibaseHold held = target().forget();
        if (held != null) {
            held.end();
        }
    }

    private Database database() {
        return Objects.requireNonNull(database, "Liquibase sets the database first");
    }

    private ProtectedDatabase target() {
        return ProtectedDatabase.find(database())
                .orElseThrow(() -> new IllegalStateException("Liquibase's lock was not set up for this database"));
    }

    private LiquibaseLock settings() {
        return target().settings();
    }

    private LiquibaseLockRow row() {
        // MySQL and MariaDB have catalogs only.
        String schema = database().getLiquibaseSchemaName();
        return settings().row("liquibase:" + (schema == null ? database().getLiquibaseCatalogName() : schema));
    }

    private LockException failure(String what, Exception failed) {
        String hint = failed instanceof SQLTransientConnectionException
                ? " (it needs one connection besides Liquibase's; perhaps the pool is too small)"
                : "";
        return new LockException(
                "Liquibase's lock '%s' could not be %s: %s%s".formatted(row().name(), what, failed.getMessage(), hint),
                failed);
    }
}
