package io.github.holdfast.service;

/** What a handle knows of its hold without asking the database. */
public enum LockState {
    /** The lock is held, at least for {@link LockHandle#remaining()}. */
    HELD,

    /**
     * The lock is held as for {@link #HELD}, but the heartbeat that keeps it is overdue: the database does not answer, or the
     * process was paused. It becomes {@link #HELD} again with the next heartbeat, or {@link #LOST} without.
     */
    SUSPECT,

    /** The lease is over, or the database said that the lock was taken. It never comes back. */
    LOST,

    /** The handle was released. */
    RELEASED
}
