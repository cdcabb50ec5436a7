package io.github.holdfast.entity;

/**
 * The availability of a lock for a claimant, at one instant of the database's clock. A claimant is an owner that requests the
 * lock.
 */
public enum LockAvailability {
    /** The lock is free and available. The claimant may acquire it. */
    FREE,

    /** The claimant already holds the lock, and the hold is still valid. The claimant may re-enter or renew it. */
    HELD_BY_CLAIMANT,

    /** Another owner holds it. */
    HELD_BY_OTHER,

    /** The lock is free, but not available before {@link LockEntity#availableAt()}. */
    NOT_YET_AVAILABLE,

    /**
     * The lock is held through a node that has not been ended, although its lease has expired. A separate write must end the node
     * first, because a heartbeat may be on its way. On every database, a single statement that both checks the node and takes the
     * lock would allow two holders.
     */
    HOLDER_NODE_EXPIRED
}
