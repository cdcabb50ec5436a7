package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockRun;
import io.github.holdfast.repository.LockRunRepository;
import io.github.holdfast.repository.LockSnapshot;
import java.time.Instant;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Whether a task is due, and that its run begins: rows of runs are inserted only together with grants, so the last run that
 * was read is the last one still when the grant succeeds. Not thread-safe.
 */
final class RunStart implements GrantStep {

    private final LockRunRepository runs;
    private final TaskRequest request;
    private Optional<LockRun> last = Optional.empty();
    private Optional<LockRun> lost = Optional.empty();
    private @Nullable Instant dueAt;

    RunStart(LockRunRepository runs, TaskRequest request) {
        this.runs = runs;
        this.request = request;
    }

    @Override
    public boolean isWanted(LockSnapshot seen) {
        last = runs.last(request.name());
        lost = Optional.empty();
        dueAt = seen.dbNow();
        return last.isEmpty() || request.isDueAfter(last.get(), seen.dbNow());
    }

    /** A run writes its end down before it gives its lock back: one that is still running under a free lock is lost. */
    @Override
    public void granted(LockEntity row) {
        lost = last.filter(run -> run.endedAt() == null && runs.lose(run.name(), run.fencingToken(), null));
        Instant begunAt = Objects.requireNonNull(dueAt, "nothing is granted that was not wanted");
        Long period = request.period()
                .map(length -> LockRun.periodOf(begunAt, length))
                .orElse(null);
        runs.begin(row, period, begunAt);
    }

    /** The run before, if this one has found it lost; to be asked when the grant is committed. */
    Optional<LockRun> lost() {
        return lost;
    }
}
