package io.github.holdfast.repository;

import io.github.holdfast.entity.LockNode;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The rows of the nodes. Each running lock service is one node, and its heartbeat extends the lease in the row.
 *
 * <p>Every method is one statement. Call it in a transaction on the primary; {@link LockStore#inTransaction} opens one. A write
 * may read the clock before it waits for another transaction. The lease then ends earlier than necessary, never later.
 */
public interface NodeRows {

    /**
     * A node as one statement saw it.
     *
     * @param node the node's row
     * @param dbNow the database's clock in that statement
     */
    record Snapshot(LockNode node, Instant dbNow) {

        /** Whether the node keeps its locks: nobody has ended it, and its lease is not over. */
        public boolean isAlive() {
            return !node.isEnded() && node.expiresAt().isAfter(dbNow);
        }

        /** Returns the remaining time of the node's lease; zero if it is over. */
        public Duration expiresIn() {
            return node.expiresAt().isAfter(dbNow) ? Duration.between(dbNow, node.expiresAt()) : Duration.ZERO;
        }
    }

    /**
     * Reads a node and the database's clock.
     *
     * @return empty if the node has no row; such a node counts as ended
     */
    Optional<Snapshot> read(String id);

    /**
     * Reads nodes, alive and dead, in the order of their ids.
     *
     * @param after the last id of the page before; the empty string for the first page
     */
    List<Snapshot> page(String after, int limit);

    /**
     * Registers a node, with version 0.
     *
     * @param id an id that no node has used before
     * @param lease how long the node lives without a heartbeat, from the moment of the write
     * @param description application, host and process, for people
     */
    void register(String id, Duration lease, @Nullable String description);

    /**
     * Extends a node's lease from the moment of the write, unless the lease is over or the node was ended.
     *
     * @return false if the node's lease is over, the node was ended, or its row has another version; then read the row again
     */
    boolean beat(String id, long version, Duration lease);

    /**
     * Ends a node whose lease is over. If a heartbeat has the row locked, this call waits, and a successful heartbeat wins.
     *
     * @param tolerance how long the lease must already be over
     * @return false if the node is alive again, its lease has not been over for that long, another node has ended it, or it is
     *     absent; then read the row again
     */
    boolean endIfOverdue(String id, Duration tolerance);

    /**
     * Marks a node as waiting, because its threads wait for a lock. A release on another node then offers the lock to other
     * nodes, and notifies them where the database supports that. The mark leaves the version unchanged, so that a concurrent
     * heartbeat still succeeds.
     *
     * @param lasts how long the mark lasts from the moment of the write
     * @return false if the node was ended, or is absent
     */
    boolean markWaiting(String id, Duration lasts);

    /**
     * Whether any other node is marked as waiting, no matter for which lock.
     *
     * @param id the node to leave out; the empty string for none
     */
    boolean isAnotherWaiting(String id);

    /**
     * Does the same as {@link #end} when the node's own service is closed; {@link LockNode#isStopped} then returns true. Does
     * nothing if another node has already ended it.
     */
    int stop(String id);

    /** Ends a node, so that the locks held through it are free. */
    int end(String id);

    /** Increments a node's version. The node's next heartbeat then fails its compare-and-set, and the node checks its locks. */
    int alert(String id);
}
