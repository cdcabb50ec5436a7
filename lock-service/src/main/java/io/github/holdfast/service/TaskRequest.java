package io.github.holdfast.service;

import io.github.holdfast.entity.LockRun;
import io.github.holdfast.entity.RunStatus;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Which task is to run once in a while, whoever runs it. Immutable: each method returns a request that differs in one thing.
 *
 * <pre>{@code
 * TaskRequest.of("nightly-report").every(Duration.ofDays(1))
 * }</pre>
 */
public final class TaskRequest {

    /** The shortest period: 1 second. */
    public static final Duration SHORTEST_PERIOD = Duration.ofSeconds(1);

    private final LockRequest lock;
    private final @Nullable Duration period;
    private final boolean hasMinimumHold;
    private final AfterFailure afterFailure;

    /** Whether a period whose run did not succeed may have another one. */
    private enum AfterFailure {
        NEXT_PERIOD,
        SAME_PERIOD
    }

    private TaskRequest(
            LockRequest lock, @Nullable Duration period, boolean hasMinimumHold, AfterFailure afterFailure) {
        this.lock = lock;
        this.period = period;
        this.hasMinimumHold = hasMinimumHold;
        this.afterFailure = afterFailure;
    }

    /**
     * A request for a task. It needs {@link #every} or {@link #minimumHold}, too.
     *
     * @param name of the task, and of the lock that it runs under, as for {@link LockRequest#of}
     * @throws IllegalArgumentException if the name is not valid
     */
    public static TaskRequest of(String name) {
        return new TaskRequest(LockRequest.of(name).notReentrant(), null, false, AfterFailure.NEXT_PERIOD);
    }

    /**
     * Has the task run once in each period at the most. Periods follow each other without a gap from the beginning of 1970, UTC, by the
     * database's clock: those of a day begin at midnight UTC, whenever the task is called. A run belongs to the period in
     * which it begins. When the clock is set back, the task is due after the period that it was set back from.
     *
     * @param period {@link #SHORTEST_PERIOD} to {@link LockRequest#LONGEST_DURATION}, in whole microseconds
     * @throws IllegalArgumentException if it is anything else
     */
    public TaskRequest every(Duration period) {
        Duration checked = LockRequest.checked("period", period, SHORTEST_PERIOD);
        if (checked.toNanos() % 1000 != 0) {
            throw new IllegalArgumentException("The period must be a whole number of microseconds, but is " + period);
        }
        return new TaskRequest(lock, checked, hasMinimumHold, afterFailure);
    }

    /**
     * Lets the next run begin no earlier than this long after a run has begun, by the database's clock: for tasks that are not
     * called at fixed times. It is written with the grant, and lasts however the run ends.
     *
     * @param minimumHold zero to {@link LockRequest#LONGEST_DURATION}. Zero if the task may run whenever nobody else runs it
     * @throws IllegalArgumentException if it is out of that range
     */
    public TaskRequest minimumHold(Duration minimumHold) {
        return new TaskRequest(lock.minimumHold(minimumHold), period, true, afterFailure);
    }

    /**
     * Bounds how long a run keeps others out, instead of keeping the lock for as long as the task runs and the process lives and is
     * connected. A run that takes longer is lost.
     *
     * @param lease as for {@link LockRequest#lease}
     * @throws IllegalArgumentException if it is out of range
     */
    public TaskRequest lease(Duration lease) {
        return new TaskRequest(lock.lease(lease), period, hasMinimumHold, afterFailure);
    }

    /**
     * Lets the task run again in the same period after a run that failed or was lost; what that has done before, is done twice. By
     * default such a period has had its run. It does not shorten a {@link #minimumHold}.
     */
    public TaskRequest retryFailed() {
        return new TaskRequest(lock, period, hasMinimumHold, AfterFailure.SAME_PERIOD);
    }

    /** Returns the name of the task and its lock. */
    public String name() {
        return lock.name();
    }

    /** Returns the length of the periods; empty if there are none. */
    public Optional<Duration> period() {
        return Optional.ofNullable(period);
    }

    /** Returns the minimum hold; empty if there is none. */
    public Optional<Duration> minimumHold() {
        return lock.minimumHold();
    }

    /** Returns the lease; empty if none was given. */
    public Optional<Duration> lease() {
        return lock.lease();
    }

    /** Returns whether a run that did not succeed is repeated within its period. */
    public boolean isRetriedInPeriod() {
        return afterFailure == AfterFailure.SAME_PERIOD;
    }

    LockRequest lock() {
        return lock;
    }

    /**
     * Checks that it says how often the task runs.
     *
     * @throws IllegalArgumentException if it does not
     */
    TaskRequest complete() {
        if (period == null && !hasMinimumHold) {
            throw new IllegalArgumentException("Task '" + name()
                    + "' would run on every node that calls it: say how often with every(period), or how long one run"
                    + " keeps the others from following with minimumHold(duration)");
        }
        return this;
    }

    /**
     * Whether the task is due.
     *
     * @param last its last run; one that has not ended is lost, because the lock is free
     * @param dbNow the database's clock
     */
    boolean isDueAfter(LockRun last, Instant dbNow) {
        return period == null
                || !last.hasBegunSincePeriodBegan(period, dbNow)
                || (isRetriedInPeriod() && last.status() != RunStatus.SUCCEEDED);
    }

    @Override
    public String toString() {
        return "TaskRequest[name=%s, period=%s, minimumHold=%s, lease=%s, afterFailure=%s]"
                .formatted(name(), period, minimumHold().orElse(null), lease().orElse(null), afterFailure);
    }
}
