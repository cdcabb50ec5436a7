package io.github.holdfast.service;

import io.github.holdfast.entity.LockRun;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * One recorded run of a task.
 *
 * @param name the name of the task and its lock
 * @param fencingToken the token of the grant that the run used
 * @param period the number of the period in which the run began; null if the task has no periods
 * @param nodeId the id of the node that kept the lock; null if the lock had a lease
 * @param holder a readable description of the process that ran the task; null if it is unknown
 * @param begunAt the time at which the service found the task due, by the database's clock
 * @param endedAt the time at which the service recorded the end, by the database's clock; null while the run is running
 * @param status the status of the run. If its process has died, the status stays at running until housekeeping or the next run
 *     notices
 * @param error the reason why the run failed or was lost, in readable form; null if it did neither, or if the reason is unknown
 */
public record RunInfo(
        String name,
        long fencingToken,
        @Nullable Long period,
        @Nullable String nodeId,
        @Nullable String holder,
        Instant begunAt,
        @Nullable Instant endedAt,
        LockRun.Status status,
        @Nullable String error) {

    static RunInfo of(LockRun run) {
        return new RunInfo(
                run.name(),
                run.fencingToken(),
                run.period(),
                run.nodeId(),
                run.holder(),
                run.begunAt(),
                run.endedAt(),
                run.status(),
                run.error());
    }
}
