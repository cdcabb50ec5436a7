package io.github.holdfast.entity;

/** The state of a run of a task. All states except {@link #RUNNING} are final. */
public enum RunStatus {
    /** The run has begun. If its process dies, housekeeping or the task's next run detects it. */
    RUNNING,

    /** The task returned normally, and held its lock until then. */
    SUCCEEDED,

    /** The task threw an exception, and held its lock until then. */
    FAILED,

    /**
     * The process died, or lost the lock before the end of the task was recorded. The task may have done all of its work, or
     * none.
     */
    LOST
}
