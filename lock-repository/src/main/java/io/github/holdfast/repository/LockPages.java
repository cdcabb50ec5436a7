package io.github.holdfast.repository;

import io.github.holdfast.entity.LockAudit;
import io.github.holdfast.entity.LockEntity;
import java.time.Instant;
import java.util.Collection;
import java.util.List;

/**
 * Reads and cleans up the tables in pages, in the order of the key, for inspection and housekeeping.
 *
 * <p>Housekeeping's queries compare with a time between the transaction's begin and now. A row may look younger than it
 * is, never older.
 *
 * <p>Every method is one statement. Call it in a transaction on the primary; {@link LockStore#inTransaction} opens one.
 */
public interface LockPages {

    /** Reads the database's clock. */
    Instant clock();

    /** Reads the waiters of living nodes for a lock, or for all if the name is empty, in the order of the names and of their queues. */
    List<NodeRows.Queued> queued(String name, int limit);

    /** Reads the acts of operators on a lock or a semaphore, the latest first. The table has no index for it. */
    List<LockAudit> acts(String name, int limit);

    /**
     * Reads the locks that are held through a node that has not been ended, and whose holder is described like this.
     *
     * @param holder a pattern of SQL
     */
    List<LockSnapshot> heldThroughNodes(String holder, String after, int limit);

    /** Reads the locks that are held through a node, alive or dead. */
    List<LockEntity> heldThrough(String nodeId, String after, int limit);

    /**
     * Finds the nodes with an expired lease that nobody has ended yet.
     *
     * @param sinceMicros since when, from the begin of the transaction: zero or negative
     */
    List<String> overdueNodes(String after, long sinceMicros, int limit);

    /**
     * Reads the locks whose node has left them, or is absent and their own lease is over.
     *
     * @param sinceMicros since when, from the begin of the transaction: zero or negative
     */
    List<LockEntity> orphans(String after, long sinceMicros, int limit);

    /**
     * Reads the locks that have been free and available for some time.
     *
     * @param sinceMicros since when, from the begin of the transaction: negative
     */
    List<LockEntity> idle(String after, long sinceMicros, int limit);

    /**
     * Finds the ended nodes whose lease has been over for some time.
     *
     * @param sinceMicros since when, from the begin of the transaction: negative
     */
    List<String> idleNodes(String after, long sinceMicros, int limit);

    /**
     * Reads which nodes wait for these locks: one result for each waiter of a node that is marked as waiting.
     *
     * @return in the order of the names, and of each queue
     */
    List<NodeRows.Waiting> waiting(Collection<String> names);

    /** Returns the nodes among these that a lock's row refers to. */
    List<String> named(List<String> ids);

    /**
     * Locks these rows until the transaction ends, and returns their current state. It skips rows that another transaction
     * has locked.
     */
    List<LockEntity> lockUnlockedRows(List<String> names);

    /**
     * Takes locks from owners whose node is gone, as {@link LockEntity#takenFromHolder} computes it. Lock the rows by
     * {@link #lockUnlockedRows} first, so that they still match the decision.
     */
    int takeFromHolder(List<String> names, long delayMicros);

    /** Deletes locks. Lock the rows by {@link #lockUnlockedRows} first, so that they still match the decision. */
    int purge(List<String> names);

    /** Deletes nodes that were ended. */
    int purgeNodes(List<String> ids);

    /** Deletes the waiters of nodes that were ended, or are absent. */
    int purgeWaiters();
}
