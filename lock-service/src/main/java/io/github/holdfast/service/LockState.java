package io.github.holdfast.service;

/** What a handle knows of its hold without asking the database. */
public enum LockState {
    /** The lease lasts at least for {@link LockHandle#remaining()}. */
    HELD,

    /** The lease is over, or the database said that the lock went to somebody else. It never comes back. */
    LOST,

    /** The handle was released. */
    RELEASED
}
