package io.github.holdfast.task;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockRun;
import io.github.holdfast.repository.rows.LockRunRepository;
import io.github.holdfast.repository.rows.LockSnapshot;
import io.github.holdfast.service.engine.acquire.GrantStep;
import java.time.Instant;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Decides whether a task is due, and records the start of its run. Only a grant inserts a run. If the grant succeeds, there was
 * no other grant since this object read the last run, so that run is still the last one. Not thread-safe.
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
    public boolean accepts(LockSnapshot seen) {
        last = runs.last(request.name());
        lost = Optional.empty();
        dueAt = seen.dbNow();
        return last.isEmpty() || request.isDueAfter(last.get(), seen.dbNow());
    }

    /**
     * Records the run. If the previous run is unfinished, it is lost: a run writes its end before it releases the lock, and the
     * lock was free.
     */
    @Override
    public void granted(LockEntity row) {
        lost = last.filter(run -> run.endedAt() == null && runs.lose(run.name(), run.fencingToken(), null));
        Instant begunAt = Objects.requireNonNull(dueAt, "a run is granted only if it is due");
        Long period = request.period()
                .map(length -> LockRun.periodOf(begunAt, length))
                .orElse(null);
        runs.begin(row, period, begunAt);
    }

    /** The previous run, if this start marked it as lost. Valid only after the commit of the grant. */
    Optional<LockRun> lost() {
        return lost;
    }
}
