package io.github.holdfast.lock;

/** The outcome of a release. */
public enum ReleaseOutcome {
    /** The lock is free. */
    RELEASED,

    /**
     * The hold has ended, and this service keeps the lock for its next holder: the next thread of this process acquires it without a
     * statement. Other services get it when they ask for it, or after the time that {@code LockServiceBuilder.keepReleased} gives. Only a
     * service that was built with that keeps locks.
     */
    KEPT,

    /** The release ended one nested hold. The owner still holds the lock. */
    STILL_HELD,

    /**
     * The release is deferred, because a transaction that ran under the lock is unfinished. The service releases the lock when
     * all such transactions have ended. Mostly, the release is cancelled if the same thread acquires the lock again
     * before.
     */
    DEFERRED,

    /** The lock was already lost: its lease was over, or it no longer belonged to the caller. */
    LOST,

    /**
     * The database did not answer the release, or refused it. The service tries again every second, or every half minute while
     * the database refuses. The lock stays held no longer than its lease or its node's lease.
     */
    UNRESOLVED
}
