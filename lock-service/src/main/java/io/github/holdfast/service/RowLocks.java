package io.github.holdfast.service;

import io.github.holdfast.repository.LockStore;
import io.github.holdfast.repository.RowTransaction;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.service.ServiceSettings.Writers;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The row locks of one service, which thread re-enters which, and the transactions of their own. Thread-safe. */
final class RowLocks {

    private static final Logger LOG = LoggerFactory.getLogger(RowLocks.class);

    private final LockStore store;
    private final int atMost;
    private final Writers writers;
    private final Semaphore ownTransactions;
    private final Set<RowHold> all = ConcurrentHashMap.newKeySet();
    private final Map<Thread, Map<String, RowHold>> ofThread = new ConcurrentHashMap<>();

    /**
     * No row locks.
     *
     * @param atMost how many transactions of its own there may be at a time
     * @param writers what the application says of the servers that it writes to
     */
    RowLocks(LockStore store, int atMost, Writers writers) {
        this.store = store;
        this.atMost = atMost;
        this.writers = writers;
        this.ownTransactions = new Semaphore(atMost);
    }

    /**
     * Checks that whoever wants the lock would see that its row is locked.
     *
     * @throws IllegalStateException if not, because it may be on another server
     */
    void checkSeenByAll(String name) {
        if (store.cluster().hasSeveralWriters() && writers != Writers.ONE_AT_A_TIME) {
            throw new IllegalStateException("Row lock '" + name + "' was not acquired: the database is "
                    + store.cluster().label()
                    + ", whose servers know nothing of each other's row locks, so that two could hold"
                    + " it. Use a lock without rowLock(), or, if all processes write to one and the same server at a time, say so with"
                    + " LockServiceBuilder.singleWriter() (holdfast.single-writer=true)");
        }
    }

    /**
     * Begins a transaction to lock a row in.
     *
     * @throws IllegalStateException if there are too many
     * @throws StoreException if there is no connection
     */
    RowTransaction begin(String name) {
        if (!ownTransactions.tryAcquire()) {
            throw new IllegalStateException(
                    "Row lock '" + name + "' was not acquired: outside the callers' transactions, " + atMost
                            + " row locks are held or waited for, each with a connection. Acquire it in a transaction, use a lock"
                            + " without rowLock(), or allow more with maxRowLocks(...)");
        }
        try {
            return store.beginRowTransaction();
        } catch (RuntimeException | Error thrown) {
            ownTransactions.release();
            throw thrown;
        }
    }

    /** Ends a transaction in which nothing is to stay locked. */
    void end(RowTransaction transaction) {
        try {
            transaction.close();
        } catch (StoreException broken) {
            LOG.debug("The connection of a row lock that was not acquired broke", broken);
        } finally {
            ownTransactions.release();
        }
    }

    /** Keeps a hold until it ends. */
    void add(RowHold hold) {
        all.add(hold);
        // Inside: the release of another one by another thread would remove the map meanwhile.
        ofThread.compute(hold.thread(), (thread, existing) -> {
            Map<String, RowHold> byName = existing == null ? new ConcurrentHashMap<>() : existing;
            byName.put(hold.name(), hold);
            return byName;
        });
    }

    void remove(RowHold hold) {
        if (all.remove(hold) && !hold.isCallers()) {
            ownTransactions.release();
        }
        unbind(hold);
    }

    /** Lets the thread that acquired the hold no longer re-enter it. */
    void unbind(RowHold hold) {
        ofThread.computeIfPresent(hold.thread(), (thread, byName) -> {
            byName.remove(hold.name(), hold);
            return byName.isEmpty() ? null : byName;
        });
    }

    /** Returns what the current thread holds under this name. */
    Optional<RowHold> ofCurrentThread(String name) {
        return Optional.ofNullable(
                        ofThread.getOrDefault(Thread.currentThread(), Map.of()).get(name))
                .filter(RowHold::isHeld);
    }

    /** Returns what the current thread holds. */
    Collection<RowHold> ofCurrentThread() {
        return List.copyOf(
                ofThread.getOrDefault(Thread.currentThread(), Map.of()).values());
    }

    /**
     * Checks that a lock with a lease would not wait for the calling thread itself.
     *
     * @throws IllegalStateException if it would
     */
    void checkNotHeldByCurrentThread(String name) {
        if (ofCurrentThread(name).isPresent()) {
            throw new IllegalStateException("This thread holds '" + name
                    + "' as a row lock; acquired without rowLock(), it would wait for itself");
        }
    }

    boolean isAnyLeft() {
        return !all.isEmpty();
    }

    /** Ends those that have a transaction of their own. */
    void close() {
        all.stream().filter(hold -> !hold.isCallers()).forEach(RowHold::close);
    }
}
