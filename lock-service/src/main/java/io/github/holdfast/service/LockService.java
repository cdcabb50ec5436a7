package io.github.holdfast.service;

import io.github.holdfast.election.ElectionRequest;
import io.github.holdfast.election.Elections;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockHandles;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.Locks;
import io.github.holdfast.repository.store.CommitGuard;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.semaphore.Semaphore;
import io.github.holdfast.semaphore.SemaphoreRequest;
import io.github.holdfast.service.engine.LockEngine;
import io.github.holdfast.service.engine.acquire.GrantStep;
import io.github.holdfast.service.engine.runtime.ServiceSettings;
import io.github.holdfast.task.TaskLock;
import io.github.holdfast.task.TaskRequest;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.ConfigurableTransactionManager;

/**
 * Distributed locks that are stored in the application's own database. Thread-safe. One service for each persistence unit is
 * enough.
 *
 * <pre>{@code
 * try (LockService locks = LockService.builder(entityManagerFactory).build()) {
 *     locks.run(LockRequest.of("nightly-report"), lock -> report.write());
 * }
 * }</pre>
 *
 * <p><strong>Guarantee.</strong> At most one owner holds a lock at a time, among all processes that use the same table. This has
 * two conditions: the holder obeys {@link LockHandle#state()}, and the clocks of the process and the database run at nearly the
 * same rate. The fencing tokens of a name only increase. The database's clock alone decides whether a lease has expired. After a
 * failover, another machine's clock decides. The two clocks may then differ by no more than the {@linkplain
 * LockServiceBuilder#clockTolerance clock tolerance}.
 *
 * <p><strong>Fenced commit.</strong> A read-write transaction under a lock commits only if no other owner has got the lock
 * since. This applies to transactions of the {@linkplain LockServiceBuilder#transactionManager transaction manager}, and does
 * not depend on any clock.
 *
 * <p><strong>Limit.</strong> A process may be paused for longer than its lease, and not check its lock afterwards. It then
 * continues to work while another owner holds the lock. Only its fenced transactions cannot commit.
 *
 * <p><strong>Operation.</strong> A lock without a {@linkplain LockRequest#lease lease} lasts as long as this service is alive
 * and reaches the database. One heartbeat keeps all such locks. Every operation is a short transaction of its own on a
 * connection of its own, even if the calling thread is in a transaction. A waiter holds no connection, except while a
 * transaction has the lock's row locked. {@linkplain LockRequest#rowLock Row locks} work differently.
 *
 * <p><strong>Transactions.</strong> Acquire the lock before the transaction begins: at REPEATABLE READ or higher, a transaction
 * keeps the snapshot of its first read. You may release the lock before a Spring-managed transaction under it ends. The lock
 * then becomes free when the transaction has ended.
 */
public final class LockService implements Locks, AutoCloseable {

    private final LockEngine engine;
    private final HeldLocks heldLocks;
    private final Housekeeping housekeeping;
    private final LockAdmin admin;
    private final Elections elections;
    private final LockView.OfThread views = new LockView.OfThread();

    LockService(
            LockStore store,
            CommitGuard guard,
            ServiceSettings settings,
            @Nullable ConfigurableTransactionManager transactionManager) {
        engine = LockEngine.start(store, guard, settings, transactionManager);
        try {
            housekeeping = new Housekeeping(this, engine, settings);
            heldLocks = new HeldLocks(engine);
            elections = Elections.of(engine);
            admin = new LockAdmin(engine, heldLocks, housekeeping, elections);
        } catch (RuntimeException | Error thrown) {
            engine.close();
            throw thrown;
        }
    }

    /**
     * Returns a builder for a service that keeps its locks in the database of a persistence unit.
     *
     * @param entityManagerFactory the persistence unit's factory, which must be Hibernate's. Its entity classes include those
     *     of {@code LockEntity.ENTITIES}. The service does not close it
     */
    public static LockServiceBuilder builder(EntityManagerFactory entityManagerFactory) {
        return new LockServiceBuilder(entityManagerFactory);
    }

    /**
     * {@inheritDoc}
     *
     * <p>It costs one statement if the lock is held, and two if it is free. If this service was the last to release the lock, it
     * costs one statement while the lock is still free, and two if another service holds it now. The first use of a name costs
     * four. Each statement is a transaction of its own. After a lost race or a conflict, the service tries again, until it acquires
     * the lock or reads that it is held.
     *
     * <p>A write waits if another transaction has the row locked. It gives up after one second (on H2, after its lock timeout).
     *
     * @see Locks#tryAcquire for the exceptions
     */
    @Override
    public Optional<LockHandle> tryAcquire(LockRequest request) {
        if (request.waitTime().isPresent()) {
            throw new IllegalArgumentException("tryAcquire never waits for a holder, but the request for lock '"
                    + request.name() + "' has a wait time: use acquire");
        }
        return engine.tryAcquire(request, GrantStep.NONE).handle();
    }

    /**
     * {@inheritDoc}
     *
     * <p>Threads of this service get the lock in order of arrival, unless the request names an owner. There is no order between
     * services, except for {@linkplain LockRequest#fair fair} requests. A waiting thread holds no connection between polls.
     *
     * <p><strong>Cost.</strong> An attempt costs one statement, and a grant one more. While a thread of this service holds the
     * lock, the others do not poll: one statement releases the lock and grants it to the next thread. While another service holds
     * the lock, this service polls: at first for the first waiting thread, then for all its threads together, with one statement
     * for many locks. If this service has waited longest, the release wakes it. Where that is not possible (see {@link
     * LockServiceBuilder#withoutWakeUp}), the service polls more often. A longer wait for another service also costs two
     * statements, which insert and delete a row of {@code lock_waiter}. All such threads of the service together cost one statement
     * every 3 seconds, which records in the row of its node that they wait.
     *
     * <p>A service may pass the lock from thread to thread for up to a second. Then it reads with one statement whether other
     * services have waiters. If so, it frees the lock for them. If its threads have waited without a gap for some seconds, it frees
     * the lock in any case.
     *
     * <p>A thread may lose a race at the end of its wait time. It then tries again until the race is decided, for at most 3
     * seconds from the start.
     *
     * <p>A poll takes a connection of its own, even in a transaction that already has one. The wait for this connection counts
     * towards the wait time. Only the pool's connection timeout ends it, so the call may take that much longer. If threads in
     * transactions occupy all connections of the pool, they wait for each other until that timeout. To avoid this, give lock
     * operations {@linkplain LockServiceBuilder#lockDataSource connections of their own}.
     *
     * <p>For a row lock, the thread waits in the database and occupies a connection. This wait can last a second longer than
     * the wait time. The thread notices an interrupt only after the wait.
     *
     * @see Locks#acquire for the exceptions
     */
    @Override
    public LockHandle acquire(LockRequest request) throws InterruptedException {
        return engine.acquire(request);
    }

    LockHandle acquireUninterruptibly(LockRequest request) {
        return engine.acquireUninterruptibly(request);
    }

    /**
     * {@inheritDoc}
     *
     * <p>For the cost of each lock, see {@link #acquire}.
     *
     * @see Locks#acquireAll for the exceptions
     */
    @Override
    public LockHandles acquireAll(Collection<LockRequest> requests) throws InterruptedException {
        List<LockRequest> sorted = requests.stream()
                .sorted(Comparator.comparing(LockRequest::name))
                .toList();
        checkNames(sorted);
        return engine.acquireAll(sorted);
    }

    private static void checkNames(List<LockRequest> sorted) {
        if (sorted.isEmpty()) {
            throw new IllegalArgumentException("There is nothing to acquire");
        }
        for (int next = 1; next < sorted.size(); next++) {
            String name = sorted.get(next).name();
            if (name.equals(sorted.get(next - 1).name())) {
                throw new IllegalArgumentException("Lock '" + name + "' was named twice");
            }
        }
    }

    @Override
    public Lock asLock(String name) {
        return new LockView(this, views, LockRequest.of(name));
    }

    @Override
    public ReadWriteLock asReadWriteLock(String name) {
        return new ReadWriteLockView(
                new LockView(this, views, LockRequest.of(name).shared()),
                new LockView(this, views, LockRequest.of(name)));
    }

    /**
     * {@inheritDoc}
     *
     * <p>It costs one statement, and one more if the lock was last shared. The database's clock decides whether the lock is held.
     *
     * @see Locks#find for the exceptions
     */
    @Override
    public Optional<LockInfo> find(String name) {
        return heldLocks.of(LockRequest.of(name).name()).stream().findFirst();
    }

    /**
     * Returns an object that runs a task at most once per period across all nodes.
     *
     * @throws IllegalArgumentException if the request has neither a {@linkplain TaskRequest#every period} nor a {@linkplain
     *     TaskRequest#minimumHold minimum hold}
     */
    public TaskLock task(TaskRequest request) {
        return TaskLock.of(engine, request);
    }

    /**
     * Returns a semaphore, which limits how many permits are held at a time across all nodes.
     *
     * @throws IllegalArgumentException if the request has no {@linkplain SemaphoreRequest#limit limit}, or requests more permits
     *     than that
     */
    public Semaphore semaphore(SemaphoreRequest request) {
        return Semaphore.of(engine, request);
    }

    /**
     * Returns a new object for this node's part in an election. At most one node of all leads at a time. It costs no statement.
     * {@link #close()} also closes the elections of this service.
     *
     * @throws IllegalStateException if the service is closed
     */
    public LeaderElection election(ElectionRequest request) {
        return elections.election(request);
    }

    /** Returns the API for operators: holders of locks, semaphores, forced release, housekeeping. */
    public LockAdmin admin() {
        return admin;
    }

    /**
     * Closes the service after a grace period for its holders. Leaders resign, and candidates give up. From now on, a thread that
     * holds no lock of this service cannot acquire one. If it waits for a lock, the wait ends. In both cases the thread gets an
     * {@link IllegalStateException}. When no lock is held any more, or the grace period ends, the service closes as by {@link
     * #close()}. An interrupt ends the grace period, and the interrupt flag stays set.
     *
     * @param gracePeriod the longest time that holders may continue, zero to {@link LockRequest#LONGEST_DURATION}; measured by
     *     the process's own clock
     * @throws IllegalArgumentException if it is out of that range
     */
    public void close(Duration gracePeriod) {
        LockRequest.checkedDuration("grace period", gracePeriod);
        elections.stop();
        housekeeping.close();
        try {
            engine.drain(gracePeriod);
        } catch (InterruptedException endsTheGracePeriod) {
            Thread.currentThread().interrupt();
        }
        close();
    }

    /**
     * Closes the service. It closes its {@linkplain LeaderElection#close elections} first, which waits for 2 seconds at most for
     * each leader whose callbacks do not return. Waiting acquisitions fail. The service marks its locks as lost and frees them at
     * once. One statement ends its node and frees all locks that the node holds. The release of each lock with a lease costs one
     * statement. If there is a {@linkplain LockServiceBuilder#lockDelay lock delay}, so does the release of each lock without a
     * lease. If the database does not answer, the locks stay held until their leases, and the node's lease, expire.
     *
     * <p>When another owner has been granted one of these locks, transactions of this service under the lock do not commit. Neither
     * do transactions that a thread begins before it has released its handle. A second call does nothing. {@link #reopen} opens the
     * service again. This method does not close the {@code EntityManagerFactory}.
     */
    @Override
    public void close() {
        elections.close();
        housekeeping.close();
        engine.close();
    }

    /**
     * Opens the service again after it was closed, as a new node, with the same settings. Frameworks that stop an application and
     * start it again use this, for example around a checkpoint of the process. What was held before stays lost, and so do its
     * handles. A thread that has dropped such a handle without a release is not refused because of it any more. Objects of this
     * service can be used again: its {@linkplain #admin() admin}, its tasks and semaphores. Its elections can be started again.
     *
     * <p>On PostgreSQL it costs one statement, and does not wait for its answer. It does nothing if the service is open. Do not
     * call it during {@link #close}.
     */
    public void reopen() {
        engine.reopen();
        elections.reopen();
        housekeeping.reopen();
    }
}
