package io.github.holdfast.entity;

/** What a lock's row says to one who wants the lock, at one instant of the database's clock. */
public enum Standing {
    /** Nobody holds it and it is available: it may be granted. */
    FREE,

    /** The one who asks holds it already, and the hold is still valid: it may be re-entered or renewed. */
    MINE,

    /** Somebody else holds it. */
    HELD,

    /** Nobody holds it, but it is not available before {@link LockEntity#availableAt()}. */
    DELAYED,

    /**
     * It is held through a node whose lease is over, but which has not been ended. The node must be ended first, in a
     * write of its own: a heartbeat may be on its way, and one statement that judges the node and takes the lock lets
     * two holders in on every database.
     */
    NODE_OVERDUE
}
