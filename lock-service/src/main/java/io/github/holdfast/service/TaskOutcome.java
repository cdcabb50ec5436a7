package io.github.holdfast.service;

/** What became of a call that was to run a task if it is due. */
public enum TaskOutcome {
    /** The task ran and returned, and that is written down. */
    SUCCEEDED,

    /** It did not run: the current period has had its run, or nobody may hold the lock yet. */
    NOT_DUE,

    /** It did not run: somebody holds the lock, mostly because the task is running. */
    HELD,

    /**
     * The task ran and returned, but the lock was lost before that was written down, although a transaction committed while it
     * was held.
     */
    LOST,

    /**
     * The task ran and returned, but the database did not answer when that was to be written down. The service goes on trying,
     * and keeps the lock meanwhile; if it does not get through before that is lost, the run counts as lost.
     */
    UNRESOLVED
}
