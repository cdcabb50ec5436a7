package io.github.holdfast.repository.rows;

import java.time.Duration;
import java.util.List;

/**
 * The rows of the waiters: each shows that a node waits for a lock. They are hints, which decide nothing. A row counts
 * only while its node is {@linkplain LockNodeRepository#markWaiting marked as waiting}. Each call is one statement.
 */
public interface WaiterRows {

    /**
     * A place in the order of the waiters for one lock.
     *
     * @param since the database's clock when the waiter first read it, in microseconds since 1970, unless
     *     the order of a service's fair requests needs another time
     * @param id distinguishes the waiters of the same time; at most 64 characters
     * @param nodeId the node that waits
     * @param mode what it waits for
     * @param isFair whether the waiter has a place in {@link LockRows#firstInQueue the queue}
     */
    record Ticket(String name, long since, String id, String nodeId, WaitMode mode, boolean isFair) {}

    /** What a waiter waits for. */
    enum WaitMode {
        /** A lock, exclusively. */
        EXCLUSIVE("X"),

        /** A lock, together with others. */
        SHARED("S"),

        /** Permits of a semaphore. */
        PERMITS("P");

        private final String code;

        WaitMode(String code) {
            this.code = code;
        }

        public String code() {
            return code;
        }
    }

    /** Adds a row. Does nothing if it is present. */
    void add(Ticket ticket);

    /** Removes a row. Does nothing if it is absent. */
    void remove(Ticket ticket);

    /** Removes a row of which only the id is known. Does nothing if it is absent. */
    void removeStray(String name, String id);

    /** Removes all rows of a node for one lock. */
    void removeAll(String name, String nodeId);

    /**
     * For how long after a node was {@linkplain LockNodeRepository#markWaiting marked as waiting} a release may overlook its rows, and
     * wake none of its waiters. Until then, the node must poll.
     */
    Duration UNNOTICED = Duration.ofMillis(200);

    /** The largest number of names that {@link #available} takes. Each is a parameter of the statement. */
    int MOST_NAMES = 512;

    /**
     * Finds the locks that may be available to an owner other than their present one: no owner holds them, or their holder is
     * dead, or the lock has no row.
     *
     * @param names at least one, and {@link #MOST_NAMES} at most
     * @param tolerance for how long a lease must have been over
     */
    List<String> available(List<String> names, Duration tolerance);

    /** Returns how many nodes wait for a lock, without this one; the empty string leaves none out. */
    int countOtherNodes(String name, String nodeId);
}
