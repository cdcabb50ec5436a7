package io.github.holdfast.service;

import io.github.holdfast.repository.CommitGuard;
import io.github.holdfast.repository.LockRepository;
import io.github.holdfast.repository.LockStore;
import io.github.holdfast.repository.WakeUpChannel;
import io.github.holdfast.service.ServiceSettings.WakeUp;
import java.time.Duration;

/**
 * What every acquisition and hold of one service works with.
 *
 * @param store where the locks are
 * @param settler ends what unanswered commits left open
 * @param held the holds of this service
 * @param rowLocks its row locks
 * @param queue in which threads of this process wait
 * @param remembered how it has left the rows of locks
 * @param heartbeat keeps the node alive
 * @param wakeUps who waits, and is woken by other nodes
 * @param watch tells holders on time
 * @param overdue cancels statements that wait for too long
 * @param transactions of the callers
 * @param events tells users
 * @param lockDelay how long nobody may have a lock that a dead holder left
 * @param clockTolerance for how long a lease must have been over before a lock is taken from its holder
 * @param ticker the local passage of time
 */
record Internals(
        LockStore store,
        Settler settler,
        HeldLocks held,
        RowLocks rowLocks,
        LocalQueue queue,
        Remembered remembered,
        Heartbeat heartbeat,
        WakeUps wakeUps,
        LossWatch watch,
        OverdueStatements overdue,
        Transactions transactions,
        Events events,
        Duration lockDelay,
        Duration clockTolerance,
        Ticker ticker) {

    static Internals of(
            LockStore store,
            OverdueStatements overdue,
            CommitGuard guard,
            ServiceSettings settings,
            String description) {
        Ticker ticker = settings.ticker();
        WakeUpChannel channel = settings.wakeUp() == WakeUp.BY_NOTIFICATION ? store.wakeUpChannel() : null;
        Events events = new Events(settings.listeners());
        HeldLocks held = new HeldLocks();
        RowLocks rowLocks = new RowLocks(store, settings.maxRowLocks(), settings.writers());
        Settler settler = new Settler(store, ticker);
        Heartbeat heartbeat = new Heartbeat(
                store, settings.nodeTiming(), ticker, new Reconciliation(store, held, settler), events, description);
        return new Internals(
                store,
                settler,
                held,
                rowLocks,
                new LocalQueue(ticker),
                new Remembered(),
                heartbeat,
                WakeUps.through(channel, store, heartbeat, ticker),
                new LossWatch(held.all(), ticker, new Recheck(held, heartbeat, settler)),
                overdue,
                new Transactions(guard, held, rowLocks, events),
                events,
                settings.lockDelay(),
                settings.clockTolerance(),
                ticker);
    }

    /**
     * Checks that the calling thread may acquire locks.
     *
     * @throws IllegalStateException if the service is closed, or being closed and the thread holds nothing
     */
    void checkAccepting() {
        held.checkOpen();
        if (held.isDraining()
                && held.ofCurrentThread().isEmpty()
                && rowLocks.ofCurrentThread().isEmpty()) {
            throw new IllegalStateException(
                    "The lock service is being closed: only threads that hold a lock may acquire another one");
        }
    }

    /** The rows of the locks, for calls that are a transaction each. */
    LockRepository standalone(Duration atMost) {
        return store.standalone(atMost);
    }

    /** Wakes those of this process who wait for a lock that it has given back. */
    void givenBack(String name) {
        queue.released(name);
        wakeUps.givenBack(name);
    }

    /** Whether a lock is held, or is being acquired. */
    boolean isInUse() {
        return !held.pending().isEmpty() || held.isAnyLeft() || rowLocks.isAnyLeft();
    }
}
