package io.github.holdfast.service.engine.rowlock;

import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.rows.RowTransaction;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.service.engine.hold.HoldRegistry;
import io.github.holdfast.service.engine.runtime.LockLog;
import io.github.holdfast.service.engine.runtime.ServiceSettings.Writers;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Begins the transactions of row locks, keeps the holds that end with them, and limits the number of those of their own. Thread-safe. */
public final class RowTransactions {

    private static final Logger LOG = LoggerFactory.getLogger(RowTransactions.class);

    private final LockStore store;
    private final HoldRegistry holds;
    private final int atMost;
    private final Writers writers;
    private final Semaphore ownTransactions;
    private final Set<RowHold> all = ConcurrentHashMap.newKeySet();

    /**
     * Creates an object without row locks.
     *
     * @param holds finds the row locks of a thread
     * @param atMost how many row locks may have a transaction of their own at a time
     * @param writers what the application says about the servers that it writes to
     */
    public RowTransactions(LockStore store, HoldRegistry holds, int atMost, Writers writers) {
        this.store = store;
        this.holds = holds;
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
    public void checkSeenByAll(String name) {
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
    public void add(RowHold hold) {
        all.add(hold);
        holds.bind(hold, hold.acquiredBy());
    }

    void remove(RowHold hold) {
        forget(hold);
        holds.unbindFence(hold);
    }

    /** Forgets a hold that is lost, but for the transactions of its thread. */
    void lost(RowHold hold) {
        forget(hold);
        // Threads that end without a release would stay here.
        holds.forgetDeadThreads();
    }

    private void forget(RowHold hold) {
        if (all.remove(hold) && !hold.isCallers()) {
            ownTransactions.release();
        }
    }

    /** Returns the row lock that the current thread holds under this name. */
    public Optional<RowHold> ofCurrentThread(String name) {
        return holds.ofCurrentThread(RowHold.class).stream()
                .filter(hold -> hold.name().equals(name) && hold.isHeld())
                .findFirst();
    }

    /**
     * Checks that a lock with a lease would not wait for the calling thread itself.
     *
     * @throws IllegalStateException if it would
     */
    public void checkNotHeldByCurrentThread(String name) {
        if (ofCurrentThread(name).isPresent()) {
            throw new IllegalStateException("This thread already holds '" + name
                    + "' as a row lock: a lock without rowLock() would wait for this thread itself");
        }
    }

    /** Returns the row locks that are not released. */
    public Stream<RowHold> left() {
        return all.stream();
    }

    /** Ends the row locks that have a transaction of their own, whatever the end of one throws. */
    public void close() {
        for (RowHold hold : all) {
            try {
                if (!hold.isCallers()) {
                    hold.close();
                }
            } catch (RuntimeException | Error failed) {
                LockLog.notReleasedOnClose(hold.name(), failed);
            }
        }
    }
}
