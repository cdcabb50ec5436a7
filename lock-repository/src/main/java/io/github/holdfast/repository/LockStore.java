package io.github.holdfast.repository;

import static org.hibernate.jpa.SpecHints.HINT_SPEC_LOCK_TIMEOUT;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.StoreException.Failure;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.PersistenceException;
import java.time.Duration;
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
}
