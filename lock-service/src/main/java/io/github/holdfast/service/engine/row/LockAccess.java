package io.github.holdfast.service.engine.row;

import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.rows.LockRows;
import io.github.holdfast.repository.rows.TransactionalLockRows;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.runtime.Ticker;
import io.github.holdfast.service.engine.wait.LocalQueue;
import io.github.holdfast.service.engine.wait.WaiterNotifier;
import java.time.Duration;
import java.util.function.Function;

/**
 * The components with which one service reads and writes the rows of locks, and keeps their waiters.
 *
 * @param store the store of the locks
 * @param inDoubtWrites settles writes without an answer
 * @param freeRows the rows of free locks, as this process knows them
 * @param queue the queue of waiting threads of this process
 * @param waiterNotifier announces waiters, and wakes them when other nodes release locks
 * @param ticker the local clocks
 */
public record LockAccess(
        LockStore store,
        InDoubtWrites inDoubtWrites,
        FreeRowCache freeRows,
        LocalQueue queue,
        WaiterNotifier waiterNotifier,
        Ticker ticker) {

    /** The rows of the locks. Each call is a transaction of its own. */
    public LockRows autocommit(Duration atMost) {
        return store.autocommit(atMost);
    }

    /**
     * Does work in a transaction, and repeats it until the database answers. Not interruptible.
     *
     * @throws StoreException if the database refused, or did not answer within the limit
     */
    public <T> T untilAnswered(Duration limit, Function<TransactionalLockRows, T> work) {
        return Deadline.uninterruptibly(
                ticker,
                limit,
                deadline -> deadline.repeat(() -> store.inTransaction(deadline.forOneStatement(), work)));
    }

    /** Wakes the waiting threads of this process after it has released their lock. */
    public void lockReleased(String name) {
        queue.released(name);
        waiterNotifier.lockReleased(name);
    }
}
