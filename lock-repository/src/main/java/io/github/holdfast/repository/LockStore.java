package io.github.holdfast.repository;

import static org.hibernate.jpa.SpecHints.HINT_SPEC_LOCK_TIMEOUT;

import io.github.holdfast.entity.LockAudit;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockTables.LockRows;
import io.github.holdfast.repository.LockTables.LockSnapshot;
import io.github.holdfast.repository.LockTables.NodeRows;
import io.github.holdfast.repository.LockTables.RunRows;
import io.github.holdfast.repository.LockTables.TransactionalLockRows;
import io.github.holdfast.repository.LockTables.WaiterRows;
import io.github.holdfast.repository.StoreException.Failure;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.PersistenceException;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.hibernate.Session;
import org.hibernate.cfg.AvailableSettings;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.jspecify.annotations.Nullable;
import org.springframework.util.function.SingletonSupplier;

/**
 * Runs lock operations, each in a short read-write transaction of its own. It never touches the calling thread's own
 * transaction and persistence context. Thread-safe.
 *
 * <p>It sets no isolation level, because that would cost one to three round trips for each call. The operations are correct at
 * every isolation level. Some levels cause conflicts; these appear as {@link Failure#CONFLICT}.
 */
public final class LockStore implements AutoCloseable {

    private static final Duration AT_ONCE = Duration.ofSeconds(1);

    /** The lock timeout that is none, in milliseconds. */
    private static final int WAIT_FOREVER = -1;

    private final StoreTransactions transactions;
    private final JpaLockRows locks;
    private final NodeRows nodes;
    private final LockPageRepository pages;
    private final Supplier<LockSearch> search;
    private final RunRows runs;
    private final HolderRows permits;
    private final AutocommitLockRows.Statements statements;
    private final LockWaiterRepository waiterQueries;
    private final AutocommitWaiterRows.Statements waiters;
    private final ConnectionEviction uselessOfApplication;
    private final @Nullable String severalWriters;

    private final PostgresWakeUpChannel.Name channelName;

    private final boolean hasOwnConnections;

    private LockStore(
            SessionFactoryImplementor factory, @Nullable DataSource connections, @Nullable String severalWriters) {
        this.severalWriters = severalWriters;
        hasOwnConnections = connections != null;
        transactions = new StoreTransactions(factory, connections);
        channelName = new PostgresWakeUpChannel.Name();
        LockAuditRepository audits = transactions.repository(LockAuditRepository.class);
        locks = new JpaLockRows(
                transactions.repository(LockRepository.class), audits, H2RowLocks.ifNeeded(transactions));
        nodes = transactions.repository(LockNodeRepository.class);
        pages = transactions.repository(LockPageRepository.class);
        search = SingletonSupplier.of(() -> transactions.laterRepository(LockSearchRepository.class));
        runs = transactions.repository(LockRunRepository.class);
        permits = new JpaHolderRows(transactions.repository(PermitRepository.class), audits);
        waiterQueries = transactions.repository(LockWaiterRepository.class);
        MetamodelCache.clear();
        statements = new AutocommitLockRows.Statements(factory, connections);
        waiters = new AutocommitWaiterRows.Statements(factory);
        uselessOfApplication = ConnectionEviction.of(factory, null);
    }

    private LockStore(LockStore origin, StatementTimeout timeout) {
        transactions = origin.transactions.with(timeout);
        locks = origin.locks;
        nodes = origin.nodes;
        pages = origin.pages;
        search = origin.search;
        runs = origin.runs;
        permits = origin.permits;
        statements = origin.statements;
        waiterQueries = origin.waiterQueries;
        waiters = origin.waiters;
        uselessOfApplication = origin.uselessOfApplication;
        severalWriters = origin.severalWriters;
        channelName = origin.channelName;
        hasOwnConnections = origin.hasOwnConnections;
    }

    /**
     * Opens the store of a persistence unit. First checks that the persistence unit and its database are suitable. The checks
     * cost one transaction, which is rolled back.
     *
     * @throws IllegalStateException if the persistence unit or the database is not set up for Holdfast; the message says
     *     what to change
     * @throws StoreException if the database cannot be reached, lacks Holdfast's tables, or refuses writes
     */
    public static LockStore open(EntityManagerFactory entityManagerFactory) {
        StartupCheck check = new StartupCheck(entityManagerFactory);
        check.persistenceUnit();
        String severalWriters = check.connections(null).orElse(null);
        LockStore store = new LockStore(check.sessionFactory(), null, severalWriters);
        check.tables(store);
        return store;
    }

    /**
     * Does the same as {@link #open(EntityManagerFactory)}, but with separate connections for lock operations. It checks that
     * both kinds of connections lead to the same database: it writes a row through one, reads it through the other, and
     * deletes it.
     *
     * @param lockDataSource the source of the connections of lock operations; not closed by the store
     * @throws IllegalStateException also if the lock data source leads to another database or schema
     */
    public static LockStore open(EntityManagerFactory entityManagerFactory, DataSource lockDataSource) {
        StartupCheck.refuseProxy("lock service's", lockDataSource);
        StartupCheck check = new StartupCheck(entityManagerFactory);
        check.persistenceUnit();
        String severalWriters = check.connections(lockDataSource).orElse(null);
        LockStore store = new LockStore(check.sessionFactory(), lockDataSource, severalWriters);
        check.tables(store);
        check.pooler(null);
        check.isSameDatabase(store, new LockStore(check.sessionFactory(), null, severalWriters));
        return store;
    }

    /**
     * Returns a store like this one, whose threads cancel slow writes. They cost less than the drivers' query timeouts. They
     * limit the updates of {@link #autocommit}, except on H2, which has its own limit, and the commits on PostgreSQL. Without
     * these threads, the drivers cancel updates, and nothing cancels a commit.
     *
     * @param nanoClock the local monotonic clock, in nanoseconds
     * @return a store that must be closed; closing this store does not end the threads of the returned one
     */
    public LockStore cancellingOverdue(LongSupplier nanoClock) {
        return new LockStore(this, transactions.timeout().cancelling(nanoClock));
    }

    /** Ends the threads that cancel slow writes, as soon as no write is left for them to watch. */
    @Override
    public void close() {
        transactions.timeout().close();
    }

    /**
     * Returns the kind of cluster, if several servers may write the database at the same time. Such servers do not see each
     * other's row locks. Determined when the store was opened.
     *
     * @return the name of the kind for messages, with an article if the name needs one; empty if one server writes
     */
    public Optional<String> severalWriters() {
        return Optional.ofNullable(severalWriters);
    }

    /** Returns how many transactions may be guarded by one holder's row at the same time; at least 1. */
    public int mostGuardsOfRow() {
        return transactions.dialect().mostGuardsOfRow();
    }

    /**
     * Asks the server for settings, and for replication into the tables, that are a risk. Up to four statements.
     *
     * @return the risks, each with what causes it and what to do
     * @throws StoreException if the database failed
     */
    public Map<DatabaseRisk, String> risks() {
        List<String> tables =
                LockEntity.ENTITIES.stream().map(transactions::table).toList();
        try (Session session = transactions.unit().createEntityManager().unwrap(Session.class)) {
            return session.doReturningWork(connection -> transactions.dialect().risks(connection, tables));
        } catch (PersistenceException thrown) {
            throw StoreException.of(transactions.errors().ofStatement(thrown), thrown);
        }
    }

    /**
     * Checks that the calling thread, which serves no request, can open sessions. No statement.
     *
     * @throws IllegalStateException if the application's resolver of tenants gives the thread none
     */
    public void checkTenant() {
        StartupCheck.tenant(transactions.factory());
    }

    /** Returns the database's name for messages. */
    public String database() {
        return transactions.dialect().label();
    }

    /** Returns the name of the persistence unit; the empty string if it has none. */
    public String persistenceUnit() {
        return Objects.toString(
                transactions.factory().getProperties().get(AvailableSettings.PERSISTENCE_UNIT_NAME), "");
    }

    /** Whether lock operations have connections of their own, apart from the application's. */
    public boolean hasOwnConnections() {
        return hasOwnConnections;
    }

    /** Whether {@link RowTransaction} excludes others from a row, and can skip locked rows. */
    public boolean hasRowLocks() {
        return transactions.dialect().hasRowLocks();
    }

    /** Returns access to the rows of the nodes, for work inside {@link #inTransaction(Duration, Function)}. */
    public NodeRows nodes() {
        return nodes;
    }

    /** Returns paged access to the tables, for work inside {@link #inTransaction(Duration, Function)}. */
    public LockPages pages() {
        return pages;
    }

    /**
     * Returns access to the held locks, for work inside {@link #inTransaction(Duration, Function)}. Call this method before that: the
     * first call parses long queries, which would count against the time limit of the transaction.
     */
    public LockSearch search() {
        return search.get();
    }

    /** Whether a lock has both holders and waiters. The answer needs all columns of their tables, for the start-up check. */
    boolean hasHoldersAndWaiters(String name) {
        return !pages.holdersAndWaiters(name).isEmpty();
    }

    /** Returns access to the runs of tasks, for work inside {@link #inTransaction(Duration, Function)}. */
    public RunRows runs() {
        return runs;
    }

    /** Returns access to semaphores and the holders of their permits, for work inside {@link #inTransaction(Duration, Function)}. */
    public HolderRows permits() {
        return permits;
    }

    /**
     * Opens the channel through which releases wake waiters on other nodes.
     *
     * @param background runs work soon, on another thread
     * @return empty if waiters must poll: on H2 and databases added from outside, if several servers of MySQL or MariaDB write at the same time, and with another
     *     driver than PostgreSQL's own
     * @throws StoreException if the database failed, and this store and its origin have not opened such a channel before
     */
    public Optional<WakeUpChannel> wakeUpChannel(Consumer<Runnable> background) {
        if (severalWriters != null) {
            return Optional.empty();
        }
        return switch (transactions.dialect().wakeUp()) {
            case NONE -> Optional.empty();
            case NOTIFICATIONS ->
                channelName.in(transactions).map(name -> PostgresWakeUpChannel.of(transactions, waiterQueries, name));
            case BELL ->
                Optional.of(new MysqlWakeUpChannel(transactions, statements.executor(), waiterQueries, background));
        };
    }

    /** Whether the pool has a connection to spare for wake-ups, if it is one of HikariCP. */
    public boolean canListen() {
        return !transactions.useless().isPoolSmallerThan(HikariPools.LEAST_FOR_WAKE_UP);
    }

    /** Returns the rows of the waiters, thread-safe, with the same limit as {@link #inTransaction(Duration, Function)}. */
    public WaiterRows waiters(Duration atMost) {
        return new AutocommitWaiterRows(waiters, statements.executor(), transactions, atMost);
    }

    /**
     * Runs the work in a transaction of its own and commits it. On H2, an internal error before the commit makes the work run
     * again, at most twice.
     *
     * @param atMost how long a statement may take, rounded up to whole seconds, before the database is asked to cancel it; H2
     *     does not cancel a statement while it waits for a row. The same limit applies to a commit if the store {@linkplain
     *     #cancellingOverdue cancels slow writes}
     * @throws StoreException if the database failed; its {@link StoreException#failure} says what became of the writes
     */
    public <T> T inTransaction(Duration atMost, Function<TransactionalLockRows, T> work) {
        return transactions.committed(atMost, () -> work.apply(locks));
    }

    /**
     * Returns the rows of the locks, with each call in a transaction of its own. On a connection in autocommit mode, {@code
     * read}, {@code grant} and {@code release} cost one round trip.
     *
     * @param atMost how long each statement may take, as in {@link #inTransaction(Duration, Function)}
     * @return the rows; thread-safe
     */
    public LockRows autocommit(Duration atMost) {
        return new AutocommitLockRows(statements, transactions, locks, atMost);
    }

    /** Does the same as {@link #inTransaction(Duration, Function)}, for work that does not concern a single lock. */
    public <T> T inTransaction(Duration atMost, Supplier<T> work) {
        return transactions.committed(atMost, work);
    }

    /**
     * A transaction that locks rows of locks with {@code select … for update} until it ends. Use it from one thread at a time.
     */
    public interface RowTransaction extends AutoCloseable {

        /**
         * Locks a row, and waits in the database for any transaction that has the row locked. One statement. The row then
         * stays unchanged until the transaction ends.
         *
         * @param atMost how long to wait, rounded up to whole seconds
         * @return empty if the lock has no row
         * @throws StoreException if another transaction keeps the row locked for that long
         *     ({@link StoreException.Failure#BUSY}), or the database failed; some databases then continue the transaction,
         *     others do not
         */
        Optional<LockEntity> lock(String name, Duration atMost);

        /**
         * Locks a row unless another transaction has it locked. One statement. It never waits, and the transaction stays
         * usable on every database.
         *
         * @return empty if another transaction has the row locked, or the lock has no row
         * @throws StoreException if the database failed
         */
        Optional<LockEntity> lockIfFree(String name);

        /** Whether the transaction is still open. */
        boolean isActive();

        /** Marks the transaction for rollback only. */
        void setRollbackOnly();

        /**
         * Ends the transaction, unless it is a caller's.
         *
         * @throws StoreException if the connection broke; then the database has ended the transaction, perhaps earlier
         */
        @Override
        void close();
    }

    /**
     * Begins a separate transaction on a connection of the application, even if lock operations have separate connections. The
     * connection stays in use until the transaction is closed.
     *
     * @throws StoreException if there is no connection
     */
    public RowTransaction beginRowTransaction() {
        try {
            EntityManagerFactory applications = transactions.factory();
            return new OwnRowTransaction(this, applications.createEntityManager(), uselessOfApplication);
        } catch (RuntimeException thrown) {
            throw StoreException.of(SqlErrors.ofBegin(thrown), thrown);
        }
    }

    /**
     * Returns the calling thread's transaction.
     *
     * @param guard the guard that finds the transaction
     * @throws IllegalStateException if the guard's manager has begun no transaction on this thread
     */
    public RowTransaction joinRowTransaction(CommitGuard guard) {
        return new CallersRowTransaction(this, guard.requiredEntityManager());
    }

    /** See {@link RowTransaction#lock}. */
    Optional<LockEntity> lockRow(EntityManager entityManager, String name, Duration atMost) {
        // H2 ignores a query timeout while a statement waits for a row, so it needs a lock timeout; Hibernate rounds
        // that to whole seconds. On other databases a lock timeout would cost extra statements. The application may
        // have set one globally, so it is switched off here.
        entityManager.setProperty(
                HINT_SPEC_LOCK_TIMEOUT,
                transactions.dialect().isWaitCancellable()
                        ? WAIT_FOREVER
                        : Math.multiplyExact(StatementTimeout.seconds(atMost), 1000));
        return transactions.within(entityManager, atMost, () -> locks.findForUpdate(name, atMost));
    }

    /** Whether a transaction that has only locked rows must end by a commit. */
    boolean commitsRowLocks() {
        return transactions.dialect().commitsRowLocks();
    }

    /** See {@link RowTransaction#lockIfFree}. */
    Optional<LockEntity> lockRowIfFree(EntityManager entityManager, String name) {
        return transactions.within(entityManager, AT_ONCE, () -> locks.findForUpdateSkipLocked(name));
    }

    /** Does the same as {@link #inTransaction(Duration, Function)}, but rolls the transaction back. */
    <T> T inRolledBackTransaction(Duration atMost, Function<TransactionalLockRows, T> work) {
        return transactions.rolledBack(atMost, () -> work.apply(locks));
    }

    /**
     * Reads and cleans up the tables in pages, in the order of the key, for inspection and housekeeping.
     *
     * <p>Housekeeping's queries compare with a time between the transaction's begin and now. A row may look younger than it
     * is, never older.
     *
     * <p>Every method is one statement. Call it in a transaction on the primary; {@link LockStore#inTransaction} opens one.
     */
    public interface LockPages {

        /** Reads the database's clock. */
        Instant clock();

        /** Reads the waiters of living nodes for a lock, or for all if the name is empty, in the order of the names and of their queues. */
        List<NodeRows.Queued> queued(String name, int limit);

        /** Reads the acts of operators on a lock or a semaphore, the latest first. The table has no index for it. */
        List<LockAudit> acts(String name, int limit);

        /**
         * Reads the locks that are held through a node that has not been ended, and whose holder is described like this.
         *
         * @param holder a pattern of SQL
         */
        List<LockSnapshot> heldThroughNodes(String holder, String after, int limit);

        /** Reads the locks that are held through a node, alive or dead. */
        List<LockEntity> heldThrough(String nodeId, String after, int limit);

        /**
         * Finds the nodes with an expired lease that nobody has ended yet.
         *
         * @param sinceMicros since when, from the begin of the transaction: zero or negative
         */
        List<String> overdueNodes(String after, long sinceMicros, int limit);

        /**
         * Reads the locks whose node has left them, or is absent and their own lease is over.
         *
         * @param sinceMicros since when, from the begin of the transaction: zero or negative
         */
        List<LockEntity> orphans(String after, long sinceMicros, int limit);

        /**
         * Reads the locks that have been free and available for some time.
         *
         * @param sinceMicros since when, from the begin of the transaction: negative
         */
        List<LockEntity> idle(String after, long sinceMicros, int limit);

        /**
         * Finds the ended nodes whose lease has been over for some time.
         *
         * @param sinceMicros since when, from the begin of the transaction: negative
         */
        List<String> idleNodes(String after, long sinceMicros, int limit);

        /**
         * Reads which nodes wait for these locks: one result for each waiter of a node that is marked as waiting.
         *
         * @return in the order of the names, and of each queue
         */
        List<NodeRows.Waiting> waiting(Collection<String> names);

        /** Returns the nodes among these that a lock's row refers to. */
        List<String> named(List<String> ids);

        /**
         * Locks these rows until the transaction ends, and returns their current state. It skips rows that another transaction
         * has locked.
         */
        List<LockEntity> lockUnlockedRows(List<String> names);

        /**
         * Takes locks from owners whose node is gone, as {@link LockEntity#takenFromHolder} computes it. Lock the rows by
         * {@link #lockUnlockedRows} first, so that they still match the decision.
         */
        int takeFromHolder(List<String> names, long delayMicros);

        /** Deletes locks. Lock the rows by {@link #lockUnlockedRows} first, so that they still match the decision. */
        int purge(List<String> names);

        /** Deletes nodes that were ended. */
        int purgeNodes(List<String> ids);

        /** Deletes the waiters of nodes that were ended, or are absent. */
        int purgeWaiters();
    }

    /** Reads the held locks in pages, for operators. Every method is one statement. Call it as those of {@link LockPages}. */
    public interface LockSearch {

        /**
         * Reads the locks that are held by a running lease, or through a node that has not been ended. Also those that are shared,
         * if a holder has such a lease or node.
         */
        List<LockSnapshot> held(String after, int limit);

        /**
         * Reads those of the {@link #held} locks that match all conditions. The names limit the part of the table that is read. The
         * other conditions have no index: the statement ends when it has found enough.
         *
         * @param first how the names begin
         * @param before greater than all names that begin so, if it is not empty
         * @param holder a pattern of SQL with the escape character {@code !}, in lower case, for the description, the owner or the node of a holder; {@code %} for all
         * @param state ANY, ALONE, SHARED, OVERDUE or WAITED_FOR
         */
        List<LockSnapshot> search(String first, String after, String before, String holder, String state, int limit);
    }

    /**
     * The channel through which a release wakes the waiters on other nodes. A notification without a receiver is lost.
     * Thread-safe.
     */
    public interface WakeUpChannel {

        /** Returns the number by which others wake this service; null while it polls. Each connection has a new one. */
        @Nullable
        Long bell();

        /**
         * Does the same as {@link LockRows#release}. If the lock becomes free, it wakes the service that has waited longest
         * for it, unless that service polls. One statement, and on MySQL and MariaDB one in the background to wake a service.
         */
        boolean release(LockRows locks, LockEntity before, LockEntity after);

        /**
         * Wakes the service that has waited longest for a lock, no matter whether the lock is free. Two statements at most.
         *
         * @throws StoreException if the database failed
         */
        void wakeNext(String name);

        /** Receives notifications on the {@linkplain #listen listening} thread. */
        interface Receiver {

            /** Whether to keep listening; called every few seconds, and after {@link #stopListening}. */
            boolean isOpen();

            /** Called when listening has begun. From now on, no notification is lost while the connection lives. */
            void ready();

            /** Called for each lock that this service may now acquire. It is only a hint, which any session can send. */
            void lockReleased(String lockName);

            /**
             * Called when a release has woken this service without saying which lock is free.
             *
             * @param free reads the names of those locks that this service waits for and nobody holds; one statement
             */
            void woken(Supplier<List<String>> free);

            /**
             * Called a moment after {@link #woken}, unless the service was woken again before that: another release may have woken it in
             * vain meanwhile.
             *
             * @param lockNames the locks that this service waits for and nobody holds
             */
            default void stillFree(List<String> lockNames) {
                lockNames.forEach(this::lockReleased);
            }

            /** Called for each lock of which a release has found that another service waits for it. */
            void awaitedElsewhere(String lockName);
        }

        /**
         * Listens on one connection until the receiver is closed. First it wakes itself through another connection, to prove
         * that wake-ups arrive. On MySQL and MariaDB, the connection is closed afterwards, and not given back to its pool.
         *
         * @throws StoreException if there is no connection, it broke, or no wake-up arrives, as with a pooler that changes
         *     sessions between transactions; the receiver may have missed wake-ups
         */
        void listen(Receiver receiver);

        /** Makes {@link #listen} ask its receiver whether to keep listening. */
        void stopListening();
    }
}
