package io.github.holdfast.entity;

/** How far a run of a task has come. All but {@link #RUNNING} are final. */
public enum RunStatus {
    /** It has begun. If its process has died since, housekeeping or the task's next run finds that out. */
    RUNNING,

    /** The task returned, and the lock was held until then. */
    SUCCEEDED,

    /** The task threw, and the lock was held until then. */
    FAILED,

    /** Its process died, or the lock was lost before the task's end was written down. It may have done all, or nothing. */
    LOST
}
