package io.github.holdfast.service;

import io.github.holdfast.entity.LockNames;
import io.github.holdfast.lock.LockListener;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.repository.DatabaseRisk;
import io.github.holdfast.repository.ReadableDuration;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.store.CommitGuard;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.service.engine.LockEngine;
import io.github.holdfast.service.engine.runtime.ServiceSettings;
import io.github.holdfast.service.engine.runtime.ServiceSettings.WakeUp;
import io.github.holdfast.service.engine.runtime.ServiceSettings.Writers;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;

/** Builds a {@link LockService}. Everything but the persistence unit has a default. Not thread-safe. */
public final class LockServiceBuilder {

    private static final int MAX_APPLICATION_LENGTH = 100;
    private static final Duration SHORTEST_RETENTION = Duration.ofHours(1);
    private static final Duration LONGEST_TOLERANCE = Duration.ofMinutes(1);
    private static final Duration LONGEST_KEPT = Duration.ofSeconds(1);
    private static final Duration SHORTEST_PERIOD = Duration.ofSeconds(1);

    private final EntityManagerFactory entityManagerFactory;
    private final List<LockListener> listeners = new ArrayList<>();
    private @Nullable PlatformTransactionManager transactionManager;
    private @Nullable ConfigurableTransactionManager separateTransactionManager;
    private @Nullable DataSource lockDataSource;
    private String application = "";
    private Duration nodeLease = ServiceSettings.DEFAULT_NODE_LEASE;
    private Duration lockDelay = Duration.ZERO;
    private Duration clockTolerance = Duration.ofMillis(100);
    private @Nullable Duration housekeepingPeriod = Duration.ofMinutes(10);
    private Duration retention = Duration.ofDays(7);
    private int maxRowLocks = 5;
    private Writers writers = Writers.AS_THE_DATABASE_ALLOWS;
    private WakeUp wakeUp = WakeUp.WHERE_POSSIBLE;
    private @Nullable Duration leakDetection;
    private @Nullable Duration keepReleased;
    private UnaryOperator<ServiceSettings> adjustment = UnaryOperator.identity();
    private final Set<DatabaseRisk> accepted = EnumSet.noneOf(DatabaseRisk.class);
    private @Nullable Supplier<LockStore> store;

    LockServiceBuilder(EntityManagerFactory entityManagerFactory) {
        this.entityManagerFactory = Objects.requireNonNull(entityManagerFactory, "entityManagerFactory");
    }

    /**
     * Sets the application's transaction manager. If it is the {@code JpaTransactionManager} of the persistence unit, the
     * service fences its read-write transactions. A fenced transaction commits only while its locks are held. This applies to a
     * transaction that is active during the acquisition, and to one that begins on the thread while it holds a lock. Fencing
     * costs one more statement right before the commit (one for each lock on MariaDB and in clusters with several writers).
     * Lock operations themselves always run in transactions of their own.
     *
     * @throws IllegalArgumentException if it is a JTA transaction manager: see {@link #separateTransactionManager}
     */
    public LockServiceBuilder transactionManager(PlatformTransactionManager transactionManager) {
        CommitGuard.checkSupported(transactionManager);
        this.transactionManager = transactionManager;
        return this;
    }

    /**
     * Checks the locks before the commits of a transaction manager that does not belong to the locks' persistence unit: for JTA, a
     * unit with tenants, or JDBC. Right before each of its read-write commits, a second transaction locks the rows of the
     * thread's locks, on a connection of the locks' persistence unit. It ends after the commit. A lock that is already lost makes
     * the commit fail. While the second transaction lasts, no other owner gets the lock.
     *
     * <p>That is less than the fence of {@link #transactionManager}. If the connection of the second transaction breaks before the
     * commit, nothing stops the commit; the service then logs a warning. A commit without an answer may happen after the lock has
     * gone to another owner: for JTA, this is a transaction in doubt. In a cluster in which several servers write, only the check
     * itself is left. {@link LockRequest#requireFence} and row locks in these transactions are refused, and {@code
     * LockHandle.isFenced()} is false. Acquire the lock before the transaction begins, because the service cannot see what the
     * transaction read earlier.
     *
     * <p>A commit costs one statement for up to 50 locks (one for each lock on MariaDB and in clusters with several writers) and a
     * rollback, and a connection of the locks' persistence unit until it has ended. Let that unit have a pool of its own, with a
     * connection for each thread that commits under locks at the same time, in addition to those that the locks need: if committing
     * transactions use up the application's pool, they wait for each other.
     *
     * @throws IllegalArgumentException if the manager reports no transactions to listeners
     * @throws IllegalStateException if its synchronizations are switched off
     */
    public LockServiceBuilder separateTransactionManager(PlatformTransactionManager transactionManager) {
        if (!(transactionManager instanceof ConfigurableTransactionManager configurable)) {
            throw new IllegalArgumentException("The transaction manager is a "
                    + transactionManager.getClass().getName()
                    + ", which is no ConfigurableTransactionManager: its commits could not be checked");
        }
        CommitGuard.checkSynchronizes(transactionManager);
        this.separateTransactionManager = configurable;
        return this;
    }

    /**
     * Runs lock operations and heartbeats on connections of their own. They then continue even while the application uses all
     * of its connections. By default, they use connections of the persistence unit. Row locks always do.
     *
     * @param lockDataSource a small connection pool on the same database: two connections, and one more for each thread that
     *     often locks. The service does not close it
     */
    public LockServiceBuilder lockDataSource(DataSource lockDataSource) {
        this.lockDataSource = Objects.requireNonNull(lockDataSource, "lockDataSource");
        return this;
    }

    /**
     * Sets the name of the application. It appears in the description of a lock's holder.
     *
     * @param application up to 100 characters, no control characters. By default, the description has only process and host
     * @throws IllegalArgumentException if it is longer, or blank
     */
    public LockServiceBuilder application(String application) {
        this.application = LockNames.checked("application", application, MAX_APPLICATION_LENGTH);
        return this;
    }

    /**
     * Sets the lease of the node. This is how long a dead process keeps its locks, by the database's clock. It is also how long
     * a live process keeps them without a connection. A heartbeat renews the lease each time a third of it has passed. Services
     * on one database may have different node leases.
     *
     * @param nodeLease 1 second to 1 day; 30 seconds by default
     * @throws IllegalArgumentException if it is out of that range
     */
    public LockServiceBuilder nodeLease(Duration nodeLease) {
        this.nodeLease = ServiceSettings.checkedNodeLease(nodeLease);
        return this;
    }

    /**
     * Sets how long a lock stays unavailable after it was taken from a dead or expired holder. Use it if requests that a dead
     * holder has sent may arrive late. A released lock is free at once. All services should have the same delay.
     *
     * @param lockDelay zero (none, the default) to {@link LockRequest#LONGEST_DURATION}
     * @throws IllegalArgumentException if it is out of that range
     */
    public LockServiceBuilder lockDelay(Duration lockDelay) {
        this.lockDelay = LockRequest.checkedDuration("lock delay", lockDelay);
        return this;
    }

    /**
     * Sets how long a lease, or the lease of a node, must have been expired before a takeover, by the database's clock. After a
     * failover, the clock of another machine decides. If that clock is ahead, leases end earlier by the difference, before their
     * holders notice. Choose a tolerance longer than the largest difference between the clocks of these machines. Then no other
     * owner gets a lock before its holder notices the loss. Between the end of the lease and the end of the tolerance, no owner
     * holds the lock. The tolerance delays only takeovers. A released lock is free at once, and so are the locks of a closed
     * service. All services should have the same tolerance.
     *
     * @param clockTolerance zero (for one machine whose clock is never set) to 1 minute; 100 milliseconds by default. The
     *     clocks of machines with NTP stay within this default
     * @throws IllegalArgumentException if it is out of that range
     */
    public LockServiceBuilder clockTolerance(Duration clockTolerance) {
        if (clockTolerance.isNegative() || clockTolerance.compareTo(LONGEST_TOLERANCE) > 0) {
            throw new IllegalArgumentException("The clock tolerance must be from " + new ReadableDuration(Duration.ZERO)
                    + " to " + new ReadableDuration(LONGEST_TOLERANCE) + ", but is "
                    + new ReadableDuration(clockTolerance));
        }
        this.clockTolerance = clockTolerance;
        return this;
    }

    /** Adds a listener for the events of all locks. The service calls listeners in the order in which you add them. */
    public LockServiceBuilder listener(LockListener listener) {
        listeners.add(Objects.requireNonNull(listener, "listener"));
        return this;
    }

    /**
     * Sets how often housekeeping runs. Among the services on one database, only one runs it at a time. A service skips its run
     * if another service ran housekeeping within half of this period.
     *
     * @param period 1 second to {@link LockRequest#LONGEST_DURATION}; 10 minutes by default
     * @throws IllegalArgumentException if it is out of that range
     * @see LockAdmin#housekeep
     */
    public LockServiceBuilder housekeepingEvery(Duration period) {
        this.housekeepingPeriod = LockRequest.checked("housekeeping period", period, SHORTEST_PERIOD);
        return this;
    }

    /** Switches periodic housekeeping off. Only calls of {@link LockAdmin#housekeep} then clean the tables. */
    public LockServiceBuilder withoutHousekeeping() {
        this.housekeepingPeriod = null;
        return this;
    }

    /**
     * Sets the minimum time for which housekeeping keeps the rows of unused locks, of dead nodes, and of ended runs.
     *
     * @param retention 1 hour to {@link LockRequest#LONGEST_DURATION}; 7 days by default. Fencing tokens increase even after
     *     the deletion of a lock's row, unless the database's clock is set back by more than this
     * @throws IllegalArgumentException if it is out of that range
     */
    public LockServiceBuilder retention(Duration retention) {
        this.retention = LockRequest.checked("retention", retention, SHORTEST_RETENTION);
        return this;
    }

    /**
     * Limits the number of {@linkplain LockRequest#rowLock row locks} outside the callers' transactions. The limit counts row
     * locks that are held and those that are being waited for. Each occupies one of the persistence unit's connections.
     *
     * @param maxRowLocks 0 or more; 5 by default. Choose fewer than the pool has connections
     * @throws IllegalArgumentException if it is negative
     */
    public LockServiceBuilder maxRowLocks(int maxRowLocks) {
        if (maxRowLocks < 0) {
            throw new IllegalArgumentException("The limit of row locks must be 0 or more, but is " + maxRowLocks);
        }
        this.maxRowLocks = maxRowLocks;
        return this;
    }

    /**
     * Declares that all processes that use the table write to one and the same server at a time. Use it in a cluster with
     * several writable servers (Galera, Group Replication with several primaries). There, it allows {@linkplain
     * LockRequest#rowLock row locks}. The service otherwise refuses them, because a server of such a cluster does not see the
     * row locks of another one. If the declaration is false, two owners may hold a row lock at the same time. Nothing else
     * depends on the declaration. In other databases it has no effect.
     */
    public LockServiceBuilder singleWriter() {
        this.writers = Writers.ONE_AT_A_TIME;
        return this;
    }

    /**
     * Makes the waiting threads of this service poll only. Use it behind a pooler that changes sessions between transactions, and
     * with a pool of fewer than three connections that is not HikariCP's.
     *
     * <p>By default, PostgreSQL, MySQL and MariaDB wake the thread of another service that has waited longest for a lock when the
     * lock is released. It then wakes up within milliseconds, and the service polls much less often for all its waiting threads.
     * For that, one connection of the service listens, from the first wait that takes longer than a moment until the service is
     * closed. If this connection breaks, the service polls until another one listens. Polls also find locks that become free
     * without a release (a closed service, a dead process, a forced release).
     *
     * <p>With this option, the service still wakes the threads of others, and its threads still have their turn. Threads always
     * poll on H2, in clusters of MySQL and MariaDB in which several servers write, with another driver than PostgreSQL's own, and
     * with a pool of HikariCP of fewer than three connections.
     */
    public LockServiceBuilder withoutWakeUp() {
        this.wakeUp = WakeUp.BY_POLLING;
        return this;
    }

    /**
     * Logs a warning for each lock that is held for longer than this, once, with the stack of its acquisition. The stack costs each
     * acquisition some microseconds. The process's own clock decides, and the service checks about once a second. Row locks and the
     * locks of leaders are not reported. Regardless of this setting, a warning is logged for each fenced lock whose handle became
     * garbage without a release or {@link io.github.holdfast.lock.LockHandle#detach detach()}; it has the stack if this threshold is
     * set.
     *
     * @param threshold longer than any lock should be held: 1 second to {@link LockRequest#LONGEST_DURATION}
     * @throws IllegalArgumentException if it is out of that range
     */
    public LockServiceBuilder leakDetection(Duration threshold) {
        this.leakDetection = LockRequest.checked("threshold of the leak detection", threshold, SHORTEST_PERIOD);
        return this;
    }

    /**
     * Keeps each released lock for the next acquisition of its name in this service. Such an acquisition sends no statement, and
     * neither does the release. {@link io.github.holdfast.lock.LockHandle#release} then returns {@link
     * io.github.holdfast.lock.ReleaseOutcome#KEPT}. A lock that no thread acquires again is given back after this time, many in one
     * transaction. A lock that another service requests is given back at once. By default, no lock is kept. Use the setting in all
     * services or in none.
     *
     * <p>Other services wait longer for a kept lock: usually some milliseconds, but a service that does not keep locks itself waits
     * for the whole time, or for a second while threads here go on using the lock. After the death of this process, the locks that
     * it kept stay held until its node's lease expires, as the locks that it held do.
     *
     * <p>Only exclusive reentrant locks without a lease, a chosen owner, a minimum hold or fairness are kept, if they are acquired
     * outside of a transaction. Nothing is kept where services do not wake each other: see {@link #withoutWakeUp}.
     *
     * <p>Fencing tokens still increase with each acquisition. The row of a lock shows the last token of a block of 1,000.
     *
     * @param atMost 0 (the row is given back at once, but in the background) to 1 second; 50 milliseconds suit most
     * @throws IllegalArgumentException if it is out of that range
     */
    public LockServiceBuilder keepReleased(Duration atMost) {
        if (atMost.isNegative() || atMost.compareTo(LONGEST_KEPT) > 0) {
            throw new IllegalArgumentException("Released locks can be kept for " + new ReadableDuration(Duration.ZERO)
                    + " to " + new ReadableDuration(LONGEST_KEPT) + ", but not for " + new ReadableDuration(atMost));
        }
        this.keepReleased = atMost;
        return this;
    }

    /**
     * Accepts risks of the database that would otherwise be refused, or warned of, when the service is built. Name only those that
     * do not exist here, although the check cannot detect that, or whose consequences are acceptable. The page of operations
     * describes them.
     *
     * @param risks the risks, in addition to those of earlier calls
     */
    public LockServiceBuilder accept(DatabaseRisk... risks) {
        accepted.addAll(List.of(risks));
        return this;
    }

    /** Changes settings that have no method of their own. For tests. */
    LockServiceBuilder adjusted(UnaryOperator<ServiceSettings> adjustment) {
        this.adjustment = adjustment;
        return this;
    }

    /**
     * Uses this store, which has already been checked, instead of opening a new one. It has no effect if there is a lock data
     * source.
     */
    LockServiceBuilder store(Supplier<LockStore> store) {
        this.store = store;
        return this;
    }

    /**
     * Builds the service. It first checks that locks are reliable in this database: its settings, its tables, and how it behaves
     * when two connections change one row. That takes about 30 statements and six commits. It leaves nothing behind.
     *
     * @throws IllegalStateException in these cases; the message says what to change:
     *     <ul>
     *     <li>The persistence unit, the pool, the tables or the database server are not set up for Holdfast.
     *     <li>The lock data source leads to another database.
     *     <li>Both a manager of the persistence unit and a {@linkplain #separateTransactionManager separate} one were named.
     *     <li>A connection pooler in front of PostgreSQL loses statements that the driver prepares on the server.
     *     <li>The database has a {@linkplain DatabaseRisk risk} that is refused, and not {@linkplain #accept accepted}.
     *     <li>Two connections lead to different servers or change one row from the same version, or counts of changed rows are wrong.
     *     <li>The thread was interrupted.
     *     </ul>
     * @throws LockStoreException if the database is unreachable or refuses to write, or if Holdfast's tables are missing
     */
    public LockService build() {
        ServiceSettings settings = settings();
        try {
            CommitGuard guard = CommitGuard.of(entityManagerFactory, transactionManager);
            ConfigurableTransactionManager listened = listened(guard);
            LockStore opened = openStore();
            return new LockService(opened, guard.in(opened), settings, listened);
        } catch (StoreException failed) {
            throw new LockStoreException("The lock service was not built", failed);
        }
    }

    /** Builds the service over a store that is no persistence unit's. For tests. */
    LockService over(LockStore opened, CommitGuard guard) {
        return new LockService(opened, guard, settings(), null);
    }

    private ServiceSettings settings() {
        return adjustment.apply(new ServiceSettings(
                application,
                nodeLease,
                lockDelay,
                clockTolerance,
                List.copyOf(listeners),
                housekeepingPeriod,
                retention,
                maxRowLocks,
                writers,
                wakeUp,
                leakDetection,
                keepReleased));
    }

    /** Returns the transaction manager that the service listens to; null if it listens to none. */
    private @Nullable ConfigurableTransactionManager listened(CommitGuard guard) {
        if (guard.isInstalled() && separateTransactionManager != null) {
            throw new IllegalStateException(
                    "transactionManager(...) names the manager of the locks' persistence unit, and separateTransactionManager(...) another"
                            + " one: a service checks the transactions of one manager");
        }
        return guard.isInstalled() && transactionManager instanceof ConfigurableTransactionManager configurable
                ? configurable
                : separateTransactionManager;
    }

    private LockStore openStore() {
        DataSource own = lockDataSource;
        if (own == null && store != null) {
            return store.get();
        }
        LockStore opened =
                own == null ? LockStore.open(entityManagerFactory) : LockStore.open(entityManagerFactory, own);
        LockEngine.check(opened, clockTolerance, accepted);
        return opened;
    }
}
