package io.github.holdfast.task;

import io.github.holdfast.entity.LockRun;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.ReadableDuration;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A request to run a task at most once per period across all nodes. Immutable: each method returns a copy with one change.
 *
 * <pre>{@code
 * TaskRequest.of("price-report").every(Duration.ofHours(1))
 * }</pre>
 */
public final class TaskRequest {

    /** The shortest period: 1 second. */
    public static final Duration SHORTEST_PERIOD = Duration.ofSeconds(1);

    private final LockRequest lock;
    private final @Nullable Duration period;
    private final boolean hasMinimumHold;
    private final AfterFailure afterFailure;

    /** When the task may run again after a run that did not succeed. */
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
     * Returns a request for a task. It also needs {@link #every} or {@link #minimumHold}.
     *
     * @param name the name of the task and of its lock, with the rules of {@link LockRequest#of}
     * @throws IllegalArgumentException if the name is not valid
     */
    public static TaskRequest of(String name) {
        return new TaskRequest(LockRequest.of(name).notReentrant(), null, false, AfterFailure.NEXT_PERIOD);
    }

    /**
     * Runs the task at most once in each period. Periods follow each other without gaps, from the beginning of 1970, UTC, by the
     * database's clock. A period of one day therefore begins at midnight UTC, regardless of when the task is called. A run belongs to
     * the period in which it begins. If the clock is set back, the task does not run again until the period of its last run has ended.
     *
     * @param period {@link #SHORTEST_PERIOD} to {@link LockRequest#LONGEST_DURATION}, in whole microseconds
     * @throws IllegalArgumentException if it is out of that range, or not in whole microseconds
     */
    public TaskRequest every(Duration period) {
        Duration checked = LockRequest.checked("period", period, SHORTEST_PERIOD);
        if (checked.toNanos() % 1000 != 0) {
            throw new IllegalArgumentException(
                    "The period must be a whole number of microseconds, but is " + new ReadableDuration(period));
        }
        return new TaskRequest(lock, checked, hasMinimumHold, afterFailure);
    }

    /**
     * Sets the shortest time from the beginning of one run to the beginning of the next, by the database's clock. Use it for
     * tasks that are not called at fixed times. The statement that grants the lock writes this time, so it applies no matter
     * how the run ends.
     *
     * @param minimumHold zero to {@link LockRequest#LONGEST_DURATION}. With zero, the task may run whenever no other process
     *     runs it
     * @throws IllegalArgumentException if it is out of that range
     */
    public TaskRequest minimumHold(Duration minimumHold) {
        return new TaskRequest(lock.minimumHold(minimumHold), period, true, afterFailure);
    }

    /**
     * Limits how long a run holds the lock. A run that takes longer than its lease is lost. Without a lease, a run holds the
     * lock until the task ends, for as long as the process lives and reaches the database.
     *
     * @param lease as for {@link LockRequest#lease}
     * @throws IllegalArgumentException if it is out of range
     */
    public TaskRequest lease(Duration lease) {
        return new TaskRequest(lock.lease(lease), period, hasMinimumHold, afterFailure);
    }

    /**
     * Allows another run in the same period after a run that failed or was lost. The new run repeats everything, including work
     * that the first run completed. By default, the task waits for the next period after such a run. This method does not
     * shorten a {@link #minimumHold}.
     */
    public TaskRequest retryFailed() {
        return new TaskRequest(lock, period, hasMinimumHold, AfterFailure.SAME_PERIOD);
    }

    /** Returns the name of the task and its lock. */
    public String name() {
        return lock.name();
    }

    /** Returns the length of the periods; empty if the request has none. */
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

    /** Returns whether the task may run again in the same period after a run that did not succeed. */
    public boolean isRetriedInPeriod() {
        return afterFailure == AfterFailure.SAME_PERIOD;
    }

    LockRequest lock() {
        return lock;
    }

    /**
     * Checks that the request has a period or a minimum hold.
     *
     * @throws IllegalArgumentException if it has neither
     */
    TaskRequest complete() {
        if (period == null && !hasMinimumHold) {
            throw new IllegalArgumentException("Task '" + name()
                    + "' would run on every node that calls it: set its period with every(period), or the shortest time"
                    + " from one run to the next with minimumHold(duration)");
        }
        return this;
    }

    /**
     * Returns whether the task is due.
     *
     * @param last the last run of the task. If it has not ended, it is lost, because the lock is free
     * @param dbNow the database's clock
     */
    boolean isDueAfter(LockRun last, Instant dbNow) {
        return period == null
                || !last.hasBegunSincePeriodBegan(period, dbNow)
                || (isRetriedInPeriod() && last.status() != LockRun.Status.SUCCEEDED);
    }

    @Override
    public String toString() {
        return "TaskRequest[name=%s, period=%s, minimumHold=%s, lease=%s, afterFailure=%s]"
                .formatted(name(), period, minimumHold().orElse(null), lease().orElse(null), afterFailure);
    }
}
