package io.github.holdfast.task;

import io.github.holdfast.lock.LockLostException;

/** The outcome of {@link TaskLock#runIfDue}. */
public enum TaskOutcome {
    /** The task ran and returned, and the service recorded its success. */
    SUCCEEDED,

    /** The task did not run: it has already run in the current period, or the lock is not available yet. */
    NOT_DUE,

    /** The task did not run: the lock is held, usually because the task runs elsewhere. */
    HELD,

    /**
     * The task ran and returned, but the lock was lost before the service recorded the success. A transaction has committed
     * while the lock was held. Without such a commit, {@link TaskLock#runIfDue} throws a {@link LockLostException} instead.
     */
    LOST,

    /**
     * The task ran and returned, but its success is not recorded. If the database did not answer, the service keeps the lock
     * and tries again. If the lock is lost before the record succeeds, the run counts as lost. If the database refused the
     * record, the service has released the lock, and the run will be marked as lost.
     */
    UNRESOLVED
}
