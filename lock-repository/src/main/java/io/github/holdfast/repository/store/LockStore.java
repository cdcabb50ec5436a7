package io.github.holdfast.repository.store;

import io.github.holdfast.repository.DatabaseRisk;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.repository.rows.HolderRows;
import io.github.holdfast.repository.rows.LockNodeRepository;
import io.github.holdfast.repository.rows.LockPageRepository;
import io.github.holdfast.repository.rows.LockRows;
import io.github.holdfast.repository.rows.LockRunRepository;
import io.github.holdfast.repository.rows.LockSearchRepository;
import io.github.holdfast.repository.rows.RowTransaction;
import io.github.holdfast.repository.rows.TransactionalLockRows;
import io.github.holdfast.repository.rows.WaiterRows;
import io.github.holdfast.repository.wakeup.WakeUpChannel;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.Comparator;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import javax.sql.DataSource;

/**
 * Runs lock operations, each in a short read-write transaction of its own. It never touches the calling thread's own
 * transaction and persistence context. Thread-safe.
 *
 * <p>It sets no isolation level, because that would cost one to three round trips for each call. The operations are correct at
 * every isolation level. Some levels cause conflicts; these appear as {@link Failure#CONFLICT}.
 */
public interface LockStore extends AutoCloseable {

    /**
     * Opens the store of a persistence unit. First checks that the persistence unit and its database are suitable. The checks
     * cost one transaction, which is rolled back.
     *
     * @throws IllegalStateException if the persistence unit or the database is not set up for Holdfast; the message says
     *     what to change
     * @throws StoreException if the database cannot be reached, lacks Holdfast's tables, or refuses writes
     */
    static LockStore open(EntityManagerFactory entityManagerFactory) {
        return JpaLockStore.open(entityManagerFactory);
    }

    /**
     * Does the same as {@link #open(EntityManagerFactory)}, but with separate connections for lock operations. It checks that
     * both kinds of connections lead to the same database: it writes a row through one, reads it through the other, and
     * deletes it.
     *
     * @param lockDataSource the source of the connections of lock operations; not closed by the store
     * @throws IllegalStateException also if the lock data source leads to another database or schema
     */
    static LockStore open(EntityManagerFactory entityManagerFactory, DataSource lockDataSource) {
        return JpaLockStore.open(entityManagerFactory, lockDataSource);
    }

    /**
     * Returns a store like this one, whose threads cancel slow writes. They cost less than the drivers' query timeouts. They
     * limit the updates of {@link #autocommit}, except on H2, which has its own limit, and the commits on PostgreSQL. Without
     * these threads, the drivers cancel updates, and nothing cancels a commit.
     *
     * @param nanoClock the local monotonic clock, in nanoseconds
     * @return a store that must be closed; closing this store does not end the threads of the returned one
     */
    LockStore cancellingOverdue(LongSupplier nanoClock);

    /** Ends the threads that cancel slow writes, as soon as no write is left for them to watch. */
    @Override
    void close();

    /**
     * Returns the kind of cluster, if several servers may write the database at the same time. Such servers do not see each
     * other's row locks. Determined when the store was opened.
     *
     * @return the name of the kind for messages, with an article if the name needs one; empty if one server writes
     */
    Optional<String> severalWriters();

    /** Returns how many transactions may be guarded by one holder's row at the same time; at least 1. */
    int mostGuardsOfRow();

    /**
     * Asks the server for settings, and for replication into the tables, that are a risk. Up to four statements.
     *
     * @return the risks, each with what causes it and what to do
     * @throws StoreException if the database failed
     */
    Map<DatabaseRisk, String> risks();

    /**
     * Checks that the calling thread, which serves no request, can open sessions. No statement.
     *
     * @throws IllegalStateException if the application's resolver of tenants gives the thread none
     */
    void checkTenant();

    /** Returns the database's name for messages. */
    String database();

    /** Returns the order of the names of locks in the pages that the database returns. */
    Comparator<String> nameOrder();

    /** Returns the name of the persistence unit; the empty string if it has none. */
    String persistenceUnit();

    /** Whether lock operations have connections of their own, apart from the application's. */
    boolean hasOwnConnections();

    /** Whether {@link RowTransaction} excludes others from a row, and can skip locked rows. */
    boolean hasRowLocks();

    /** Returns access to the rows of the nodes, for work inside {@link #inTransaction(Duration, Function)}. */
    LockNodeRepository nodes();

    /** Returns paged access to the tables, for work inside {@link #inTransaction(Duration, Function)}. */
    LockPageRepository pages();

    /**
     * Returns access to the held locks, for work inside {@link #inTransaction(Duration, Function)}. Call this method before that: the
     * first call parses long queries, which would count against the time limit of the transaction.
     */
    LockSearchRepository search();

    /** Returns access to the runs of tasks, for work inside {@link #inTransaction(Duration, Function)}. */
    LockRunRepository runs();

    /** Returns access to semaphores and the holders of their permits, for work inside {@link #inTransaction(Duration, Function)}. */
    HolderRows permits();

    /**
     * Opens the channel through which releases wake waiters on other nodes. {@link LockRows#releaseAndWake} of rows that this store
     * gives out afterwards wakes them; a later channel takes the place of an earlier one.
     *
     * @param background runs work soon, on another thread
     * @return empty if waiters must poll: on H2 and databases added from outside, if several servers of MySQL or MariaDB write at the same time, and with another
     *     driver than PostgreSQL's own
     * @throws StoreException if the database failed, and this store and its origin have not opened such a channel before
     */
    Optional<WakeUpChannel> wakeUpChannel(Consumer<Runnable> background);

    /** Whether the pool has a connection to spare for wake-ups, if it is one of HikariCP. */
    boolean canListen();

    /** Returns the rows of the waiters, thread-safe, with the same limit as {@link #inTransaction(Duration, Function)}. */
    WaiterRows waiters(Duration atMost);

    /**
     * Runs the work in a transaction of its own and commits it. On H2, an internal error before the commit makes the work run
     * again, at most twice.
     *
     * @param atMost how long a statement may take, rounded up to whole seconds, before the database is asked to cancel it; H2
     *     does not cancel a statement while it waits for a row. The same limit applies to a commit if the store {@linkplain
     *     #cancellingOverdue cancels slow writes}
     * @throws StoreException if the database failed; its {@link StoreException#failure} says what became of the writes
     */
    <T> T inTransaction(Duration atMost, Function<TransactionalLockRows, T> work);

    /**
     * Returns the rows of the locks, with each call in a transaction of its own. On a connection in autocommit mode, {@code
     * read}, {@code grant} and {@code release} cost one round trip.
     *
     * @param atMost how long each statement may take, as in {@link #inTransaction(Duration, Function)}
     * @return the rows; thread-safe
     */
    LockRows autocommit(Duration atMost);

    /** Does the same as {@link #inTransaction(Duration, Function)}, for work that does not concern a single lock. */
    <T> T inTransaction(Duration atMost, Supplier<T> work);

    /**
     * Begins a separate transaction on a connection of the application, even if lock operations have separate connections. The
     * connection stays in use until the transaction is closed.
     *
     * @throws StoreException if there is no connection
     */
    RowTransaction beginRowTransaction();

    /**
     * Returns the calling thread's transaction.
     *
     * @param guard the guard that finds the transaction
     * @throws IllegalStateException if the guard's manager has begun no transaction on this thread
     */
    RowTransaction joinRowTransaction(CommitGuard guard);
}
