package io.github.holdfast.service;

import io.github.holdfast.repository.CommitGuard;
import io.github.holdfast.repository.LockStore;
import io.github.holdfast.repository.StoreException;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.Lock;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.ConfigurableTransactionManager;

/**
 * Distributed locks whose rows live in the application's own database.
 *
 * <p><strong>Guarantee.</strong> At most one owner holds a name at a time, among all processes that use the same table, as
 * long as the holder heeds {@link LockHandle#state()} and the process's and the database's clocks run at nearly the same
 * rate. Fencing tokens of a name only grow. Which lease is over is decided by the database's clock alone; when another machine becomes
 * the database, their clocks must agree to the {@linkplain LockServiceBuilder#clockTolerance clock tolerance}.
 *
 * <p><strong>Fenced commit.</strong> A read-write transaction of the {@linkplain LockServiceBuilder#transactionManager
 * transaction manager} that runs under a lock commits only if nobody was granted the lock since, whatever clocks say.
 *
 * <p><strong>Limit.</strong> A process that is paused for longer than its lease and does not look afterwards goes on working,
 * outside such transactions, while somebody else holds the lock.
 *
 * <p>A lock without a {@linkplain LockRequest#lease lease} lives as long as this service does and reaches the database: one
 * heartbeat keeps all of them. Every operation is a short transaction of its own on a connection of its own, whatever the
 * calling thread has open. Waiting holds no connection, except while a transaction has the lock's row locked. {@linkplain
 * LockRequest#rowLock Row locks} are different. A lock that is released while a Spring-managed transaction that ran
 * under it is unfinished is free after that has ended. Acquire before the transaction begins: at REPEATABLE READ or higher it
 * goes on seeing what it saw at its first read. Thread-safe; one service for each persistence unit is enough.
 *
 * <pre>{@code
 * try (LockService locks = LockService.builder(entityManagerFactory).build()) {
 *     locks.run(LockRequest.of("nightly-report"), lock -> report.write());
 * }
 * }</pre>
 */
public final class LockService implements AutoCloseable {

    private static final Duration FIND_LIMIT = Duration.ofSeconds(10);

    private final Internals internals;
    private final Acquirer acquirer;
    private final RowAcquirer rowAcquirer;
    private final Housekeeping housekeeping;
    private final LockAdmin admin;
    private final @Nullable ConfigurableTransactionManager transactionManager;
    private final LockView.OfThread views = new LockView.OfThread();

    LockService(
            LockStore store,
            CommitGuard guard,
            ServiceSettings settings,
            @Nullable ConfigurableTransactionManager transactionManager) {
        Holders holders = new Holders(settings.application());
        OverdueStatements overdue = new OverdueStatements(settings.ticker());
        internals = Internals.of(store.watchedBy(overdue), overdue, guard, settings, holders.process());
        acquirer = new Acquirer(internals, holders);
        rowAcquirer = new RowAcquirer(internals, holders);
        housekeeping = new Housekeeping(this, internals.store(), settings);
        admin = new LockAdmin(internals, holders, housekeeping);
        this.transactionManager = transactionManager;
        if (transactionManager != null) {
            internals.transactions().listenTo(transactionManager);
        }
    }

    /**
     * Begins to build a service for the locks in a persistence unit's database.
     *
     * @param entityManagerFactory Hibernate's, with {@code LockEntity}, {@code LockNode}, {@code LockAudit} and
     *     {@code LockRun} among its classes; not closed by the service
     */
    public static LockServiceBuilder builder(EntityManagerFactory entityManagerFactory) {
        return new LockServiceBuilder(entityManagerFactory);
    }

    /**
     * Acquires a lock if it is free, without waiting for a holder. One statement if it is free since this service gave it back, or
     * held, two if it is free otherwise, or held by another service to which this one left it last; four the first time that a name is
     * used. Each is a transaction of its own; lost races and
     * conflicts are repeated until the lock was seen held or is acquired. Not interruptible.
     *
     * <p>A write that has to wait for a transaction that has the row locked gives up after one second (on H2, after its lock
     * timeout).
     *
     * @param request without a wait time
     * @return the lock; empty if somebody else holds it, or it is not available yet
     * @throws IllegalArgumentException if the request has a wait time
     * @throws IllegalStateException if the service is closed, or the request has no lease and the owner holds the lock by one;
     *     or a row lock would wait for this thread itself, or is wanted in a transaction that is read-only or that the service
     *     does not know, or there are too many, or the database is a cluster whose servers do not see each other's
     * @throws LockNotAcquiredException if somebody acquired the lock otherwise while its row was being locked in the caller's
     *     transaction, which can only be rolled back then
     * @throws LockStoreException if the database failed, or the caller's transaction has read too early, as for {@link #acquire}
     * @throws LockLostException if the lease was over before the database had answered
     */
    public Optional<LockHandle> tryAcquire(LockRequest request) {
        if (request.waitTime().isPresent()) {
            throw new IllegalArgumentException("tryAcquire never waits for a holder, but the request for lock '"
                    + request.name() + "' has a wait time: use acquire");
        }
        return Patience.uninterruptibly(internals.ticker(), Duration.ZERO, patience -> acquire(request, patience))
                .handle();
    }

    /**
     * Acquires a lock, and waits for it as long as the request says ({@link LockRequest#DEFAULT_WAIT} if it does not say).
     * Threads of this service are served in the order in which they came, unless the owner was chosen. As long as one of them holds
     * the lock, nobody asks the database, and the release grants the lock to the next one by its one statement. When somebody else
     * holds it, only the first of them asks, every 45 milliseconds at the latest, earlier at first, and when the holder's lease ends;
     * if it is {@linkplain LockServiceBuilder#wakeUpByNotification woken} when another service gives the lock back, every second at
     * the latest. Each look costs one statement, a grant after it another one, and between them no connection is held. Between
     * services no order is promised; after a second in which threads of this one had the lock in turn, it asks by one statement whether
     * others have waited for longer than 40 milliseconds. If so, and in any case after ten seconds in which threads of this one waited
     * without a gap, it is freed for them. Services with such waiters say so in the row of their node, by one statement each 2
     * seconds. A race that is lost at the end of the wait time is repeated until it is decided, for 3 seconds from the start at the
     * most.
     *
     * <p>A look takes a connection of its own, even inside a transaction, which has one already. Waiting for that connection
     * counts into the wait time, but only the pool's connection timeout ends it, perhaps that much after the wait time. Threads
     * in transactions that have all connections of the pool wait for each other until then, unless lock operations have {@linkplain
     * LockServiceBuilder#lockDataSource connections of their own}.
     *
     * <p>A row lock is waited for in the database, on a connection, for up to a second longer; an interrupt is noticed after that.
     *
     * @throws IllegalStateException if the service is closed, before or meanwhile, or the request has no lease and the owner
     *     holds the lock by one; for a row lock also as for {@link #tryAcquire}
     * @throws LockNotAcquiredException if somebody else held it until the wait time was over. If a {@linkplain
     *     LockRequest#rowLock row lock} is not acquired in a caller's transaction, for whatever reason, that can only be rolled back
     *     (unless the wait time was zero)
     * @throws LockDeadlockException if a caller's transaction, which wanted a row lock, and another one waited for each other
     * @throws LockStoreException if the database refused, or failed until the wait time was over, or the pool had no connection
     *     left until then; or, at REPEATABLE READ on MySQL, MariaDB and H2, the caller's transaction has loaded entities already, and
     *     the lock was held then, so that it may overlook what was committed under it (unless {@linkplain
     *     LockRequest#withoutFence without fence})
     * @throws LockLostException if the lease was over before the database had answered
     * @throws InterruptedException if the thread is interrupted before the lock is acquired; nothing is held then
     */
    public LockHandle acquire(LockRequest request) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        try (Patience patience = Patience.interruptible(internals.ticker(), waitTime(request))) {
            return acquiredOrThrow(request, patience);
        }
    }

    LockHandle acquireUninterruptibly(LockRequest request) {
        return Patience.uninterruptibly(
                internals.ticker(), waitTime(request), patience -> acquiredOrThrow(request, patience));
    }

    private static Duration waitTime(LockRequest request) {
        return request.waitTime().orElse(LockRequest.DEFAULT_WAIT);
    }

    private LockHandle acquiredOrThrow(LockRequest request, Patience patience) throws InterruptedException {
        return acquire(request, patience).orElseThrow();
    }

    private Acquired acquire(LockRequest request, Patience patience) throws InterruptedException {
        return acquire(request, GrantStep.NONE, patience);
    }

    /** For a lease lock, together with what belongs to its grant. */
    Acquired acquire(LockRequest request, GrantStep step, Patience patience) throws InterruptedException {
        return request.isRowLock() ? rowAcquirer.acquire(request, patience) : acquirer.acquire(request, step, patience);
    }

    /**
     * Acquires several locks, or none: one after the other in the order of their names, so that callers who name the same
     * locks in different orders do not wait for each other in a circle (unless they hold others already). What one lock
     * costs, {@link #acquire} says.
     *
     * @param requests at least one, for different names. All of them are waited for as long as the one with the shortest wait
     *     time says
     * @return all of them
     * @throws IllegalArgumentException if there is no request, or two are for the same name
     * @throws InterruptedException if the thread is interrupted before all are acquired; none is held then
     * @see #acquire for what else is thrown when one is not acquired; none is held then, or in a Spring-managed transaction, when
     *     that has ended
     */
    public LockHandles acquireAll(Collection<LockRequest> requests) throws InterruptedException {
        List<LockRequest> sorted = requests.stream()
                .sorted(Comparator.comparing(LockRequest::name))
                .toList();
        checkNames(sorted);
        Duration waitTime = sorted.stream()
                .map(LockService::waitTime)
                .min(Comparator.naturalOrder())
                .orElseThrow();
        List<LockHandle> acquired = new ArrayList<>();
        try (Patience patience = Patience.interruptible(internals.ticker(), waitTime)) {
            for (LockRequest request : sorted) {
                acquired.add(acquire(request.waitAtMost(patience.left())));
            }
        } catch (RuntimeException | Error | InterruptedException notAcquired) {
            new LockHandles(acquired).release();
            throw notAcquired;
        }
        return new LockHandles(acquired);
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

    /**
     * Returns a lock as a {@link Lock}: held without a lease by the thread that locks it, and re-entered by that. {@link
     * Lock#lock} waits without a limit and puts an interrupt aside; {@link Lock#unlock} throws {@link LockLostException} if
     * the lock was lost, and {@link IllegalMonitorStateException} if this thread has not locked it through a view;
     * {@link Lock#newCondition} is not supported. All of them throw {@link LockStoreException} if the database failed.
     * Thread-safe; views of the same name are the same lock.
     *
     * @param name as for {@link LockRequest#of}
     * @throws IllegalArgumentException if the name is not valid
     */
    public Lock asLock(String name) {
        return new LockView(this, views, name);
    }

    /**
     * Acquires a lock, does the task under it, and releases it.
     *
     * @return what the task returns
     * @throws E what the task throws; a loss of the lock is added to it as suppressed
     * @throws LockLostException if the task succeeded, but the lock was lost before its end
     * @throws InterruptedException if the thread is interrupted before the lock is acquired
     * @see #acquire for what else is thrown when the lock is not acquired
     */
    public <T extends @Nullable Object, E extends Exception> T call(LockRequest request, LockedTask<T, E> task)
            throws E, InterruptedException {
        try (LockHandle lock = acquire(request)) {
            return task.call(lock);
        }
    }

    /**
     * As {@link #call}, for a task that returns nothing.
     *
     * @throws E what the task throws
     * @throws InterruptedException if the thread is interrupted before the lock is acquired
     */
    public <E extends Exception> void run(LockRequest request, LockedAction<E> action) throws E, InterruptedException {
        try (LockHandle lock = acquire(request)) {
            action.run(lock);
        }
    }

    /**
     * Tells who holds a lock, by the database's clock. One statement.
     *
     * @param name as for {@link LockRequest#of}
     * @return empty if nobody holds it
     * @throws IllegalArgumentException if the name is not valid
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed
     */
    public Optional<LockInfo> find(String name) {
        String lockName = LockRequest.of(name).name();
        internals.held().checkOpen();
        try {
            return Patience.untilDecided(
                            internals.ticker(),
                            FIND_LIMIT,
                            () -> internals.standalone(FIND_LIMIT).read(lockName))
                    .flatMap(LockInfo::ofHeld);
        } catch (StoreException failed) {
            throw new LockStoreException(lockName, "was not found out about", failed);
        }
    }

    /**
     * Returns what runs a task once in a while, on whichever node it is called.
     *
     * @throws IllegalArgumentException if the request says neither {@linkplain TaskRequest#every how often} nor for how long one
     *     run keeps {@linkplain TaskRequest#minimumHold the others from following}
     */
    public TaskLock task(TaskRequest request) {
        return new TaskLock(internals, this, request.complete());
    }

    /** Returns what operators need: who holds what, forced release, housekeeping. */
    public LockAdmin admin() {
        return admin;
    }

    /**
     * Closes the service once its holders are done: at once, threads that hold no lock of this service are refused any and
     * stop waiting for one ({@link IllegalStateException}); when nothing is held any more, or the grace period is over, the
     * service is closed as by {@link #close()}. An interrupt ends the grace period, and stays set.
     *
     * @param gracePeriod for how long holders may go on, zero to {@link LockRequest#LONGEST_DURATION}; measured locally
     * @throws IllegalArgumentException if it is out of that range
     */
    public void close(Duration gracePeriod) {
        LockRequest.checkedDuration("grace period", gracePeriod);
        housekeeping.close();
        internals.held().drain();
        try (Patience patience = Patience.interruptible(internals.ticker(), gracePeriod)) {
            while (internals.isInUse() && !patience.isOver()) {
                patience.pause(null);
            }
            close();
        } catch (InterruptedException endsTheGracePeriod) {
            // Only afterwards: a pool gives an interrupted thread no connection, and the node would not be ended.
            close();
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Closes the service: waiting acquisitions fail, the locks that it holds are marked lost and are then free at once. Its
     * node is ended by one statement, whatever is held through it, and each lease is released by one (if there is a {@linkplain
     * LockServiceBuilder#lockDelay lock delay}, each lock without a lease too); if the database does
     * not answer, they stay held until their leases, and the node's, are over. Transactions under these locks do not commit, nor
     * do those that a thread begins before it has released its handles. Closing again does nothing. It does not close the {@code
     * EntityManagerFactory}.
     */
    @Override
    public void close() {
        housekeeping.close();
        List<Hold> holds = internals.held().close();
        boolean isAnyRowLocked = internals.rowLocks().isAnyLeft();
        internals.rowLocks().close();
        holds.forEach(hold -> hold.lifetime().lose(LossCause.SERVICE_CLOSED));
        if (!internals.lockDelay().isZero()) {
            // What is left to an ended node counts as a dead holder's, and would be delayed.
            release(holds, hold -> !hold.isByLease());
        }
        internals.heartbeat().close();
        release(holds, Hold::isByLease);
        internals.wakeUps().close();
        // As long as a thread may be in a transaction under a lock that was closed, or begin one, that must not commit.
        if (transactionManager != null && holds.isEmpty() && !isAnyRowLocked) {
            internals.transactions().listenNoMoreTo(transactionManager);
        }
        internals.settler().close();
        internals.watch().close();
        internals.overdue().close();
        internals.events().close();
    }

    /** As long as the database answers. */
    private static void release(List<Hold> holds, Predicate<Hold> which) {
        for (Hold hold : holds) {
            if (which.test(hold) && hold.end().freeOnClose() == ReleaseOutcome.UNRESOLVED) {
                return;
            }
        }
    }
}
