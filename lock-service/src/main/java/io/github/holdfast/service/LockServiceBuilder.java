package io.github.holdfast.service;

import io.github.holdfast.repository.CommitGuard;
import io.github.holdfast.repository.LockStore;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.service.ServiceSettings.WakeUp;
import io.github.holdfast.service.ServiceSettings.Writers;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;

/** Makes a {@link LockService}; everything but the persistence unit has a default. Not thread-safe. */
public final class LockServiceBuilder {

    private static final int MAX_APPLICATION_LENGTH = 100;
    private static final Duration SHORTEST_RETENTION = Duration.ofHours(1);
    private static final Duration LONGEST_TOLERANCE = Duration.ofMinutes(1);
    private static final Duration SHORTEST_PERIOD = Duration.ofSeconds(1);

    private final EntityManagerFactory entityManagerFactory;
    private final List<LockListener> listeners = new ArrayList<>();
    private @Nullable PlatformTransactionManager transactionManager;
    private @Nullable DataSource lockDataSource;
    private String application = "";
    private NodeTiming nodeTiming = NodeTiming.DEFAULT;
    private Duration lockDelay = Duration.ZERO;
    private Duration clockTolerance = Duration.ofMillis(100);
    private @Nullable Duration housekeepingPeriod = Duration.ofMinutes(10);
    private Duration retention = Duration.ofDays(7);
    private int maxRowLocks = 5;
    private Writers writers = Writers.AS_THE_DATABASE_ALLOWS;
    private WakeUp wakeUp = WakeUp.BY_POLLING;
    private Ticker ticker = Ticker.SYSTEM;
    private Supplier<LockStore> store;

    LockServiceBuilder(EntityManagerFactory entityManagerFactory) {
        this.entityManagerFactory = Objects.requireNonNull(entityManagerFactory, "entityManagerFactory");
        this.store = () -> LockStore.open(entityManagerFactory);
    }

    /**
     * Names the application's transaction manager. If it is the {@code JpaTransactionManager} of the persistence unit, each of
     * its read-write transactions that is active when a lock is acquired, or begins on the thread while it holds a lock, can
     * only commit while that lock is held: one statement more, right before the commit (one for each lock on MariaDB and in clusters
     * with several writers). Lock operations themselves run in
     * transactions of their own in any case.
     *
     * @throws IllegalArgumentException if it is a JTA transaction manager
     */
    public LockServiceBuilder transactionManager(PlatformTransactionManager transactionManager) {
        LockStore.checkSupported(transactionManager);
        this.transactionManager = transactionManager;
        return this;
    }

    /**
     * Runs lock operations and heartbeats on connections of their own, so that they go on while the application has all its
     * own in use. By default they take theirs from the persistence unit, as row locks do in any case.
     *
     * @param lockDataSource a small pool (two connections, and one for each thread that often locks) on the same database;
     *     not closed by the service
     */
    public LockServiceBuilder lockDataSource(DataSource lockDataSource) {
        this.lockDataSource = Objects.requireNonNull(lockDataSource, "lockDataSource");
        return this;
    }

    /**
     * Says which application this is, for those who look who holds a lock.
     *
     * @param application up to 100 characters, no control characters; by default only process and host are told
     * @throws IllegalArgumentException if it is longer, or blank
     */
    public LockServiceBuilder application(String application) {
        this.application = Names.checked("application", application, MAX_APPLICATION_LENGTH);
        return this;
    }

    /**
     * How long a dead process keeps its locks, by the database's clock; how long a live one keeps them without a
     * connection. A heartbeat renews it after each third. All services on one database may have their own.
     *
     * @param nodeLease 1 second to 1 day; 30 seconds by default
     * @throws IllegalArgumentException if it is out of that range
     */
    public LockServiceBuilder nodeLease(Duration nodeLease) {
        this.nodeTiming = NodeTiming.ofLease(nodeLease);
        return this;
    }

    /**
     * Keeps a lock that a dead or expired holder left from everybody for this long, before the next one may have it: for
     * effects that the dead holder has sent and that are still under way. A lock that was released is free at once. All
     * services should have the same.
     *
     * @param lockDelay zero (none, the default) to {@link LockRequest#LONGEST_DURATION}
     * @throws IllegalArgumentException if it is out of that range
     */
    public LockServiceBuilder lockDelay(Duration lockDelay) {
        this.lockDelay = LockRequest.checkedDuration("lock delay", lockDelay);
        return this;
    }

    /**
     * For how long a lease, or that of a node, must have been over by the database's clock before anybody takes the lock from its
     * holder. After a failover another machine is the database, and its clock decides: one that is ahead ends all leases by so much
     * earlier, before their holders know. With a tolerance that is longer than the clocks of these machines can differ by, nobody else
     * has the lock by then; between the end of its lease and the end of the tolerance nobody has it. It delays takeovers alone: a
     * lock that was released is free at once, and so is that of a service that was closed. All services should have the same.
     *
     * @param clockTolerance zero (for one machine whose clock is never set) to 1 minute; 100 milliseconds by default, which machines
     *     that are disciplined by NTP keep to
     * @throws IllegalArgumentException if it is out of that range
     */
    public LockServiceBuilder clockTolerance(Duration clockTolerance) {
        if (clockTolerance.isNegative() || clockTolerance.compareTo(LONGEST_TOLERANCE) > 0) {
            throw new IllegalArgumentException("The clock tolerance must be from " + Duration.ZERO + " to "
                    + LONGEST_TOLERANCE + ", but is " + clockTolerance);
        }
        this.clockTolerance = clockTolerance;
        return this;
    }

    /** Has this listener told of every lock, after those that were given before. */
    public LockServiceBuilder listener(LockListener listener) {
        listeners.add(Objects.requireNonNull(listener, "listener"));
        return this;
    }

    /**
     * How often the tables are tidied up. Of all services on one database, one does it at a time, and none if another has
     * done it within half of this period.
     *
     * @param period 1 second to {@link LockRequest#LONGEST_DURATION}; 10 minutes by default
     * @throws IllegalArgumentException if it is out of that range
     * @see LockAdmin#housekeep
     */
    public LockServiceBuilder housekeepingEvery(Duration period) {
        this.housekeepingPeriod = LockRequest.checked("housekeeping period", period, SHORTEST_PERIOD);
        return this;
    }

    /** Leaves the tables as they are, unless {@link LockAdmin#housekeep} is called. */
    public LockServiceBuilder withoutHousekeeping() {
        this.housekeepingPeriod = null;
        return this;
    }

    /**
     * How long the rows of locks that nobody uses, of dead nodes, and of runs that have ended are kept.
     *
     * @param retention 1 hour to {@link LockRequest#LONGEST_DURATION}; 7 days by default. Fencing tokens go on growing after a
     *     purge as long as the database's clock is not set back by more than this
     * @throws IllegalArgumentException if it is out of that range
     */
    public LockServiceBuilder retention(Duration retention) {
        this.retention = LockRequest.checked("retention", retention, SHORTEST_RETENTION);
        return this;
    }

    /**
     * How many {@linkplain LockRequest#rowLock row locks} may be held or waited for at a time outside the callers' transactions:
     * each takes one of the persistence unit's connections as long as it lasts.
     *
     * @param maxRowLocks 0 or more; 5 by default. Fewer than the pool has connections
     * @throws IllegalArgumentException if it is negative
     */
    public LockServiceBuilder maxRowLocks(int maxRowLocks) {
        if (maxRowLocks < 0) {
            throw new IllegalArgumentException("There cannot be " + maxRowLocks + " row locks");
        }
        this.maxRowLocks = maxRowLocks;
        return this;
    }

    /**
     * Declares that, in a cluster whose servers may all be written to (Galera, Group Replication with several primaries), all processes
     * that use the table write to the same server, and to another one only after that. It allows {@linkplain LockRequest#rowLock row
     * locks} there, which are refused otherwise: a server knows nothing of another one's. If it is not true, two may hold a row
     * lock at the same time. Nothing else depends on it, and elsewhere it has no effect.
     */
    public LockServiceBuilder singleWriter() {
        this.writers = Writers.ONE_AT_A_TIME;
        return this;
    }

    /**
     * On PostgreSQL, has threads that wait for a lock woken when another service gives it back, by {@code NOTIFY}: within
     * milliseconds instead of up to 50, and with one look a second instead of twenty. One connection listens for as long as the
     * service is open. While it is broken, and for whatever is not given back by a release (a closed service, a dead process, a
     * forced release), looking is what finds the lock free. All services on one database should be built so: those that are not
     * notify nobody.
     */
    public LockServiceBuilder wakeUpByNotification() {
        this.wakeUp = WakeUp.BY_NOTIFICATION;
        return this;
    }

    LockServiceBuilder ticker(Ticker ticker) {
        this.ticker = ticker;
        return this;
    }

    /** Takes a store of this persistence unit that has been checked before, unless there is a lock data source. */
    LockServiceBuilder store(Supplier<LockStore> store) {
        this.store = store;
        return this;
    }

    /**
     * Builds the service, after checking in one transaction, which is rolled back, that locks can be relied on in this
     * database.
     *
     * @throws IllegalStateException if the persistence unit, the pool, the tables or the database server are not set up for
     *     Holdfast, the lock data source leads to another database, a pooler before PostgreSQL loses what the driver prepares on the
     *     server, or {@link #wakeUpByNotification} is asked for where there is no PostgreSQL; the message says what to change
     * @throws LockStoreException if the database cannot be reached, Holdfast's tables are missing, or it refuses to write
     */
    public LockService build() {
        ServiceSettings settings = new ServiceSettings(
                application,
                nodeTiming,
                lockDelay,
                clockTolerance,
                List.copyOf(listeners),
                housekeepingPeriod,
                retention,
                maxRowLocks,
                writers,
                wakeUp,
                ticker);
        try {
            CommitGuard guard = CommitGuard.of(entityManagerFactory, transactionManager);
            LockStore opened = openStore();
            LockLog.opened(opened.cluster(), writers);
            return new LockService(opened, guard.in(opened.cluster()), settings, listened(guard));
        } catch (StoreException failed) {
            throw new LockStoreException("The lock service was not built", failed);
        }
    }

    /** The manager that is to tell of its transactions. */
    private @Nullable ConfigurableTransactionManager listened(CommitGuard guard) {
        return guard.isInstalled() && transactionManager instanceof ConfigurableTransactionManager configurable
                ? configurable
                : null;
    }

    private LockStore openStore() {
        DataSource own = lockDataSource;
        return own == null ? store.get() : LockStore.open(entityManagerFactory, own);
    }
}
