package io.github.holdfast.repository;

import io.github.holdfast.entity.LockEntity;
import java.time.Instant;
import java.util.List;

/**
 * Reads and cleans up the tables in pages, in the order of the key, for inspection and housekeeping.
 *
 * <p>Housekeeping's queries compare with a time between the transaction's begin and now. A row may look younger than it is, never
 * older.
 *
 * <p>Every method is one statement. Call it in a transaction on the primary; {@link LockStore#inTransaction} opens one.
 */
public interface LockPages {

    /** Reads the database's clock. */
    Instant clock();

    /** Reads the locks that are held by a running lease, or through a node that has not been ended. */
    List<LockSnapshot> held(String after, int limit);

    /** Reads the locks that are held through a node, alive or dead. */
    List<LockEntity> heldThrough(String nodeId, String after, int limit);

    /**
     * Finds the nodes with an expired lease that nobody has ended yet.
     *
     * @param sinceMicros since when, from the begin of the transaction: zero or negative
     */
    List<String> overdueNodes(String after, long sinceMicros, int limit);

    /** Reads the locks whose node was ended or is absent. */
    List<LockEntity> orphans(String after, int limit);

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

    /** Returns the nodes among these that a lock's row refers to. */
    List<String> named(List<String> ids);

    /**
     * Locks these rows until the transaction ends, and returns their current state. It skips rows that another transaction has
     * locked.
     */
    List<LockEntity> lockThoseFree(List<String> names);

    /**
     * Takes locks from owners whose node is gone, as {@link LockEntity#takenFromHolder} computes it. Lock the rows by {@link
     * #lockThoseFree} first, so that they still match the decision.
     */
    int takeFromHolder(List<String> names, long delayMicros);

    /** Deletes locks. Lock the rows by {@link #lockThoseFree} first, so that they still match the decision. */
    int purge(List<String> names);

    /** Deletes nodes that were ended. */
    int purgeNodes(List<String> ids);
}
