package io.github.holdfast.service.engine;

import io.github.holdfast.repository.LockStore;
import io.github.holdfast.repository.RowTransaction;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.service.engine.ServiceSettings.Writers;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps the row locks of one service, and finds the one that a thread re-enters. Limits the number of row locks with transactions
 * of their own. Thread-safe.
 */
final class RowLocks {

    private static final Logger LOG = LoggerFactory.getLogger(RowLocks.class);

    private final LockStore store;
    private final int atMost;
    private final Writers writers;
    private final Semaphore ownTransactions;
    private final Set<RowHold> all = ConcurrentHashMap.newKeySet();
    private final Map<Thread, Set<RowHold>> ofThread = new ConcurrentHashMap<>();

    /**
     * Creates an object without row locks.
     *
     * @param atMost how many row locks may have a transaction of their own at a time
     * @param writers what the application says about the servers that it writes to
     */
    RowLocks(LockStore store, int atMost, Writers writers) {
        this.store = store;
        this.atMost = atMost;
        this.writers = writers;
        this.ownTransactions = new Semaphore(atMost);
    }

    /**
     * Checks that all processes would see the row lock.
     *
     * @throws IllegalStateException if the database does not lock rows as row locks need it, or if several servers accept writes,
     *     because they do not see each other's row locks
     */
    void checkSeenByAll(String name) {
        if (!store.hasRowLocks()) {
            throw new IllegalStateException("Row lock '" + name + "' was not acquired: " + store.database()
                    + " does not lock rows as row locks need it. Use a lock without rowLock()");
        }
        Optional<String> cluster = store.severalWriters();
        if (cluster.isPresent() && writers != Writers.ONE_AT_A_TIME) {
            throw new IllegalStateException("Row lock '" + name + "' was not acquired: the database is "
                    + cluster.get()
                    + ", and its servers do not see each other's row locks, so two owners could hold it. Use a lock"
                    + " without rowLock(), or, if all processes write to one and the same server at a time, declare that with"
                    + " LockServiceBuilder.singleWriter() (holdfast.single-writer=true)");
        }
    }

    /**
     * Begins a transaction that is to lock a row.
     *
     * @throws IllegalStateException if there are too many such transactions
     * @throws StoreException if there is no connection
     */
    RowTransaction begin(String name) {
        if (!ownTransactions.tryAcquire()) {
            throw new IllegalStateException("Row lock '" + name + "' was not acquired: the limit of " + atMost
                    + " row locks outside the callers' transactions is reached, each with a connection. Acquire it in a"
                    + " transaction, use a lock without rowLock(), or allow more with maxRowLocks(...)");
        }
        try {
            return store.beginRowTransaction();
        } catch (RuntimeException | Error thrown) {
            ownTransactions.release();
            throw thrown;
        }
    }

    /** Ends a transaction that did not acquire its row lock. */
    void end(RowTransaction transaction) {
        try {
            transaction.close();
        } catch (StoreException broken) {
            LOG.debug("The connection broke after a row lock was not acquired", broken);
        } finally {
            ownTransactions.release();
        }
    }

    /** Keeps a hold until it ends. */
    void add(RowHold hold) {
        all.add(hold);
        // Inside the function: a thread that releases another hold could otherwise remove the map first.
        ofThread.compute(hold.acquiredBy(), (thread, existing) -> {
            Set<RowHold> holds = existing == null ? ConcurrentHashMap.newKeySet() : existing;
            holds.stream()
                    .filter(other -> other.name().equals(hold.name()) && other.isLost())
                    .forEach(RowHold::replaced);
            holds.removeIf(RowHold::isOutOfFence);
            holds.add(hold);
            return holds;
        });
    }

    void remove(RowHold hold) {
        forget(hold);
        unbind(hold);
    }

    /** Forgets a hold that is lost, but for the transactions of its thread. */
    void lost(RowHold hold) {
        forget(hold);
        // Threads that end without a release would stay here.
        ofThread.keySet().removeIf(thread -> !thread.isAlive());
    }

    private void forget(RowHold hold) {
        if (all.remove(hold) && !hold.isCallers()) {
            ownTransactions.release();
        }
    }

    /** Stops the acquiring thread from re-entering the hold, and from beginning transactions under it. */
    void unbind(RowHold hold) {
        ofThread.computeIfPresent(hold.acquiredBy(), (thread, holds) -> {
            holds.remove(hold);
            return holds.isEmpty() ? null : holds;
        });
    }

    /** Returns the row lock that the current thread holds under this name. */
    Optional<RowHold> ofCurrentThread(String name) {
        for (RowHold hold : ofThread.getOrDefault(Thread.currentThread(), Set.of())) {
            if (hold.name().equals(name) && hold.isHeld()) {
                return Optional.of(hold);
            }
        }
        return Optional.empty();
    }

    /**
     * Returns the row locks that the current thread has acquired and not released, and those that are lost: as {@link
     * HoldRegistry#ofCurrentThread()}.
     */
    List<RowHold> ofCurrentThread() {
        Set<RowHold> bound = ofThread.get(Thread.currentThread());
        return bound == null
                ? List.of()
                : bound.stream().filter(hold -> !hold.isOutOfFence()).toList();
    }

    /**
     * Checks that a lock with a lease would not wait for the calling thread itself.
     *
     * @throws IllegalStateException if it would
     */
    void checkNotHeldByCurrentThread(String name) {
        if (ofCurrentThread(name).isPresent()) {
            throw new IllegalStateException("This thread already holds '" + name
                    + "' as a row lock: a lock without rowLock() would wait for this thread itself");
        }
    }

    /** Returns the row locks that are not released. */
    Stream<RowHold> left() {
        return all.stream();
    }

    /** Whether a thread may begin transactions under a row lock, held or lost. */
    boolean isAnyBound() {
        return ofThread.entrySet().stream()
                .filter(bound -> bound.getKey().isAlive())
                .flatMap(bound -> bound.getValue().stream())
                .anyMatch(hold -> !hold.isOutOfFence());
    }

    /** Ends the row locks that have a transaction of their own. */
    void close() {
        all.stream().filter(hold -> !hold.isCallers()).forEach(RowHold::close);
    }
}
