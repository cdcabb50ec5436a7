package io.github.holdfast.service;

import io.github.holdfast.repository.LockSnapshot;
import io.github.holdfast.repository.LockStore;
import io.github.holdfast.repository.StoreException;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.PlatformTransactionManager;

/**
 * Distributed locks whose rows live in the application's own database.
 *
 * <p><strong>Guarantee.</strong> At most one owner holds a name at a time, among all processes that use the same table, as
 * long as the holder heeds {@link LockHandle#state()} and the process's and the database's clocks run at nearly the same
 * rate. Fencing tokens of a name only grow. Which lease is over is decided by the database's clock alone.
 *
 * <p><strong>Limit.</strong> A process that is paused for longer than its lease and does not look afterwards goes on
 * working while somebody else holds the lock.
 *
 * <p>Every operation is a short transaction of its own on a connection of its own, whatever the calling thread has open,
 * so a released lock is free even if the caller's transaction has not committed yet: acquire before the transaction
 * begins, and release after it has ended. Waiting holds no connection. Thread-safe; one service for each persistence unit
 * is enough.
 *
 * <pre>{@code
 * try (LockService locks = LockService.builder(entityManagerFactory).build()) {
 *     locks.run(LockRequest.of("nightly-report").lease(Duration.ofMinutes(10)), lock -> report.write());
 * }
 * }</pre>
 */
public final class LockService implements AutoCloseable {

    private static final Duration FIND_LIMIT = Duration.ofSeconds(10);

    private final Internals internals;
    private final String ownerPrefix = UUID.randomUUID() + ":";
    private final AtomicLong acquisitions = new AtomicLong();
    private final Holders holders = new Holders();

    private LockService(LockStore store, Ticker ticker) {
        internals = new Internals(store, new Settler(store), new HeldLocks(), ticker);
    }

    /**
     * Begins to build a service for the locks in a persistence unit's database.
     *
     * @param entityManagerFactory Hibernate's, with {@code LockEntity} and {@code LockNode} among its classes; not closed
     *     by the service
     */
    public static Builder builder(EntityManagerFactory entityManagerFactory) {
        return new Builder(entityManagerFactory);
    }

    /** Makes a {@link LockService}. Not thread-safe. */
    public static final class Builder {

        private final EntityManagerFactory entityManagerFactory;
        private Ticker ticker = Ticker.SYSTEM;

        private Builder(EntityManagerFactory entityManagerFactory) {
            this.entityManagerFactory = Objects.requireNonNull(entityManagerFactory, "entityManagerFactory");
        }

        /**
         * Names the application's transaction manager, so that it can be checked to be one that Holdfast works beside.
         * Lock operations run in transactions of their own in any case.
         *
         * @throws IllegalArgumentException if it is a JTA transaction manager
         */
        public Builder transactionManager(PlatformTransactionManager transactionManager) {
            LockStore.checkSupported(transactionManager);
            return this;
        }

        Builder ticker(Ticker ticker) {
            this.ticker = ticker;
            return this;
        }

        /**
         * Builds the service, after checking in one transaction, which is rolled back, that locks can be relied on in
         * this database.
         *
         * @throws IllegalStateException if the persistence unit, the pool, the tables or the database server are not set
         *     up for Holdfast; the message says what to change
         * @throws LockStoreException if the database cannot be reached, Holdfast's tables are missing, or it refuses to
         *     write
         */
        public LockService build() {
            try {
                return new LockService(LockStore.open(entityManagerFactory), ticker);
            } catch (StoreException failed) {
                throw new LockStoreException("The lock service was not built", failed);
            }
        }
    }

    /**
     * Acquires a lock if it is free, without waiting for a holder. One statement if it is held, two if it is free (four
     * the first time that a name is used), in a transaction of its own; lost races and conflicts are repeated until the
     * lock was seen held or is acquired. Not interruptible.
     *
     * @param request with a {@linkplain LockRequest#lease lease}, and without a wait time
     * @return the lock; empty if somebody else holds it, or it is not available yet
     * @throws IllegalArgumentException if the request has no lease, or a wait time
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed
     * @throws LockLostException if the lease was over before the database had answered
     */
    public Optional<LockHandle> tryAcquire(LockRequest request) {
        checkLease(request);
        if (request.waitTime().isPresent()) {
            throw new IllegalArgumentException("tryAcquire never waits for a holder, but the request for lock '"
                    + request.name() + "' has a wait time: use acquire");
        }
        try (Patience patience = Patience.uninterruptible(internals.ticker(), Duration.ZERO)) {
            return acquire(request, patience).handle();
        } catch (InterruptedException thrown) {
            throw new AssertionError("An uninterruptible acquisition was interrupted", thrown);
        }
    }

    /**
     * Acquires a lock, and waits for it as long as the request says ({@link LockRequest#DEFAULT_WAIT} if it does not say).
     * It looks again every 50 milliseconds at the latest, earlier at first, and when the holder's lease ends; each look
     * costs one statement, and between them no connection is held. Waiters are not served in order. A race that is lost at
     * the end of the wait time is repeated until it is decided, for 3 seconds from the start at the most.
     *
     * @param request with a {@linkplain LockRequest#lease lease}
     * @throws IllegalArgumentException if the request has no lease
     * @throws IllegalStateException if the service is closed, before or meanwhile
     * @throws LockNotAcquiredException if somebody else held it until the wait time was over
     * @throws LockStoreException if the database refused, or failed until the wait time was over
     * @throws LockLostException if the lease was over before the database had answered
     * @throws InterruptedException if the thread is interrupted before the lock is acquired; nothing is held then
     */
    public LockHandle acquire(LockRequest request) throws InterruptedException {
        checkLease(request);
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        try (Patience patience =
                Patience.interruptible(internals.ticker(), request.waitTime().orElse(LockRequest.DEFAULT_WAIT))) {
            Result result = acquire(request, patience);
            return result.handle().orElseThrow(() -> notAcquired(request, result.lastSeen(), patience));
        }
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
            return internals
                    .store()
                    .inTransaction(FIND_LIMIT, locks -> locks.read(lockName))
                    .flatMap(LockInfo::ofHeld);
        } catch (StoreException failed) {
            throw new LockStoreException(lockName, "was not found out about", failed);
        }
    }

    /**
     * Closes the service: waiting acquisitions fail, the locks that it holds are marked lost and then freed, each by one
     * statement; if the database does not answer, they stay held until their leases are over. Closing again does nothing.
     * It does not close the {@code EntityManagerFactory}.
     */
    @Override
    public void close() {
        List<Hold> holds = internals.held().close();
        holds.forEach(hold -> hold.lose("the lock service was closed"));
        for (Hold hold : holds) {
            if (hold.releaseAll() == ReleaseOutcome.UNRESOLVED) {
                break;
            }
        }
        internals.settler().close();
    }

    private record Result(
            Optional<LockHandle> handle, @Nullable LockSnapshot lastSeen) {}

    private Result acquire(LockRequest request, Patience patience) throws InterruptedException {
        internals.held().checkOpen();
        Optional<Hold> outer = reentered(request, patience);
        if (outer.isPresent()) {
            return new Result(outer.map(this::handle), null);
        }
        String owner = request.owner().orElseGet(() -> ownerPrefix + acquisitions.incrementAndGet());
        Acquisition acquisition = new Acquisition(internals, request, owner, holders.current());
        Optional<Hold> hold = acquisition.within(patience);
        hold.ifPresent(acquired -> keep(acquired, request));
        return new Result(hold.map(this::handle), acquisition.lastSeen());
    }

    /** The hold of the current thread, entered once more; empty if there is none, or it is lost. */
    private Optional<Hold> reentered(LockRequest request, Patience patience) throws InterruptedException {
        if (!isReentrantByThread(request)) {
            return Optional.empty();
        }
        Optional<Hold> outer = internals.held().ofCurrentThread(request.name());
        return outer.isPresent() && outer.get().reenter(request.lease().orElseThrow(), patience)
                ? outer
                : Optional.empty();
    }

    private void keep(Hold hold, LockRequest request) {
        try {
            internals.held().add(hold, isReentrantByThread(request) ? Thread.currentThread() : null);
        } catch (IllegalStateException closedMeanwhile) {
            hold.releaseAll();
            throw closedMeanwhile;
        }
    }

    private static boolean isReentrantByThread(LockRequest request) {
        return request.isReentrant() && request.owner().isEmpty();
    }

    private LockHandle handle(Hold hold) {
        return new LockHandle(hold, internals.held());
    }

    private static void checkLease(LockRequest request) {
        if (request.lease().isEmpty()) {
            throw new IllegalArgumentException("The request for lock '" + request.name()
                    + "' has no lease: locks that live as long as their process are not supported yet, give one with"
                    + " lease(Duration)");
        }
    }

    private static LockNotAcquiredException notAcquired(
            LockRequest request, @Nullable LockSnapshot seen, Patience patience) {
        Duration waited = patience.elapsed();
        if (seen == null) {
            return new LockNotAcquiredException(request.name(), waited, "others were faster each time");
        }
        return LockInfo.ofHeld(seen)
                .map(held -> new LockNotAcquiredException(waited, held))
                .orElseGet(() -> new LockNotAcquiredException(
                        request.name(), waited, "nobody may hold it for another " + seen.timeUntilFree()));
    }
}
