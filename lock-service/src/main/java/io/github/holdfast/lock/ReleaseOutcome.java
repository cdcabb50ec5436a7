package io.github.holdfast.lock;

/** The outcome of a release. */
public enum ReleaseOutcome {
    /** The lock is free. */
    RELEASED,

    /**
     * The hold has ended, and this service keeps the lock: the next thread of this process acquires it without a statement. Other
     * services get it when they request it, or after the time that {@code LockServiceBuilder.keepReleased} sets. Only a service
     * with that setting keeps locks.
     */
    KEPT,

    /** The release ended one nested hold. The owner still holds the lock. */
    STILL_HELD,

    /**
     * The release is deferred, because a transaction that ran under the lock is unfinished. The service releases the lock when all
     * such transactions have ended. In most cases, the release is cancelled if the same thread acquires the lock again first.
     */
    DEFERRED,

    /** The lock was already lost: its lease had expired, or it no longer belonged to the caller. */
    LOST,

    /**
     * The database did not answer the release, or refused it. The service tries again, less often while the database refuses. The
     * lock stays held no longer than its lease or its node's lease.
     */
    UNRESOLVED
}
