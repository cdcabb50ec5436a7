package io.github.holdfast.lock;

/** The state of a hold. {@link LockHandle#state()} returns it without a database query. */
public enum LockState {
    /** The lock is held, for at least {@link LockHandle#remaining()}. */
    HELD,

    /**
     * The lock is still held, but the node's heartbeat is overdue: the database does not answer, or the process was paused. The
     * next heartbeat makes the lock {@link #HELD} again. Without one it becomes {@link #LOST}.
     */
    SUSPECT,

    /**
     * The lease has expired, or the database reported that the lock no longer belongs to this hold. Only a release changes this
     * state.
     */
    LOST,

    /** The handle was released. */
    RELEASED
}
