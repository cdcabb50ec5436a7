package io.github.holdfast.service;

/** What became of a release. */
public enum ReleaseOutcome {
    /** The lock is free. */
    RELEASED,

    /** One nested hold was given back; the owner still holds the lock. */
    STILL_HELD,

    /** A transaction that ran under the lock is unfinished: the service releases it when all of them have ended. */
    DEFERRED,

    /** The lock was no longer the releaser's: its lease was over, or somebody else had it. */
    LOST,

    /**
     * The database did not answer, or refused. The service goes on trying, every second, and while it is refused every half a minute;
     * the lease, or that of the node, bounds what is left.
     */
    UNRESOLVED
}
