package io.github.holdfast.service;

import io.github.holdfast.entity.LockRun;
import io.github.holdfast.entity.RunStatus;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * One run of a task, as it is written down.
 *
 * @param name of the task and its lock
 * @param fencingToken the token of the grant under which it ran
 * @param period the number of the period in which it began; null if the task has none
 * @param nodeId the node that kept its lock; null if that had a lease
 * @param holder who ran it, for people; null if that is not known
 * @param begunAt when it was found to be due, by the database's clock
 * @param endedAt when its end was written down, by the database's clock; null if it is running
 * @param status what became of it; a run whose process has died is running until housekeeping or the next run sees that
 * @param error why it failed or was lost, for people; null if it did neither, or nobody could tell
 */
public record RunInfo(
        String name,
        long fencingToken,
        @Nullable Long period,
        @Nullable String nodeId,
        @Nullable String holder,
        Instant begunAt,
        @Nullable Instant endedAt,
        RunStatus status,
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
