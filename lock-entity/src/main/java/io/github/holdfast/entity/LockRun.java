package io.github.holdfast.entity;

import jakarta.persistence.Access;
import jakarta.persistence.AccessType;
import jakarta.persistence.Cacheable;
import jakarta.persistence.Column;
import jakarta.persistence.Convert;
import jakarta.persistence.Entity;
import jakarta.persistence.EnumType;
import jakarta.persistence.Enumerated;
import jakarta.persistence.ExcludeDefaultListeners;
import jakarta.persistence.Id;
import jakarta.persistence.IdClass;
import jakarta.persistence.Table;
import java.io.Serializable;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.type.SqlTypes;
import org.jspecify.annotations.Nullable;

/**
 * The row of one run of a task. It names the grant of the task's lock, and says how the run ended.
 *
 * <p>The transaction of the grant inserts the row. So each token has at most one run, and each name at most one with status
 * {@link Status#RUNNING}. The only update requires that the run is still running, so the row needs no version.
 *
 * <p>Instances are immutable after loading.
 */
@Entity(name = "HoldfastRun")
@Table(name = "lock_run")
@IdClass(LockRun.Key.class)
@Access(AccessType.FIELD)
@Cacheable(false)
@ExcludeDefaultListeners
public class LockRun {

    /** The longest summary of an error, in UTF-16 code units. */
    public static final int MAX_ERROR_LENGTH = 1000;

    /**
     * The key of a run.
     *
     * @param name the name of the task and its lock
     * @param fencingToken the token of the grant
     */
    public record Key(String name, long fencingToken) implements Serializable {}

    @Id
    @Column(name = "name", length = LockEntity.MAX_NAME_LENGTH, nullable = false)
    @Convert(disableConversion = true)
    private String name;

    @Id
    @Column(name = "fencing_token", nullable = false)
    @Convert(disableConversion = true)
    private long fencingToken;

    @Column(name = "period")
    @Convert(disableConversion = true)
    private @Nullable Long period;

    @Column(name = "node_id", length = 64)
    @Convert(disableConversion = true)
    private @Nullable String nodeId;

    @Column(name = "holder", length = LockEntity.MAX_HOLDER_LENGTH)
    @Convert(disableConversion = true)
    private @Nullable String holder;

    @Column(name = "begun_at", nullable = false)
    @Convert(disableConversion = true)
    @JdbcTypeCode(SqlTypes.TIMESTAMP_UTC)
    private Instant begunAt;

    @Column(name = "ended_at")
    @Convert(disableConversion = true)
    @JdbcTypeCode(SqlTypes.TIMESTAMP_UTC)
    private @Nullable Instant endedAt;

    /** A plain text column. By default, Hibernate would expect an enum type of the database on MySQL and H2. */
    @Column(name = "status", length = 16, nullable = false)
    @Convert(disableConversion = true)
    @Enumerated(EnumType.STRING)
    @JdbcTypeCode(SqlTypes.VARCHAR)
    private Status status;

    @Column(name = "error", length = MAX_ERROR_LENGTH)
    @Convert(disableConversion = true)
    private @Nullable String error;

    /** For the persistence provider. It sets every field before other code sees the instance. */
    @SuppressWarnings("NullAway.Init")
    protected LockRun() {}

    /**
     * Returns the number of the period that contains an instant. All periods have the same length and follow each other without a
     * gap. Period 0 begins with the year 1970, UTC.
     *
     * @param period the length, at least a microsecond
     */
    public static long periodOf(Instant instant, Duration period) {
        return Math.floorDiv(micros(instant), micros(period));
    }

    /**
     * Whether this run began in the current period, or later because the clock was set back. It compares instants instead of
     * period numbers, because the last run may have used another period length.
     *
     * @param period the length of the periods, at least a microsecond
     * @param dbNow the database's clock
     */
    public boolean hasBegunSincePeriodBegan(Duration period, Instant dbNow) {
        return periodOf(begunAt, period) >= periodOf(dbNow, period);
    }

    /**
     * Truncates the summary of an error to {@link #MAX_ERROR_LENGTH}, without splitting a surrogate pair.
     */
    public static String shortened(String error) {
        return Truncation.shortened(error, MAX_ERROR_LENGTH);
    }

    private static long micros(Instant instant) {
        return ChronoUnit.MICROS.between(Instant.EPOCH, instant);
    }

    private static long micros(Duration duration) {
        return duration.toNanos() / 1000;
    }

    /** Returns the name of the task and its lock. */
    public String name() {
        return name;
    }

    /** Returns the token of the run's grant. */
    public long fencingToken() {
        return fencingToken;
    }

    /** Returns the number of the period in which the run began, or null if the task has no periods. */
    public @Nullable Long period() {
        return period;
    }

    /** Returns the node through which the lock was held, or null if it was held by a lease. */
    public @Nullable String nodeId() {
        return nodeId;
    }

    /** Describes the run's process for people: host, process, thread; null if unknown. */
    public @Nullable String holder() {
        return holder;
    }

    /** Returns when the run was found to be due, by the database's clock. */
    public Instant begunAt() {
        return begunAt;
    }

    /** Returns when the end of the run was recorded, by the database's clock; null if it is running. */
    public @Nullable Instant endedAt() {
        return endedAt;
    }

    /** Returns the state of the run. */
    public Status status() {
        return status;
    }

    /** Describes why the run failed or was lost, for people; null if it did neither, or if the reason is unknown. */
    public @Nullable String error() {
        return error;
    }

    @Override
    public String toString() {
        return "LockRun[name=%s, fencingToken=%d, period=%s, status=%s, begunAt=%s, endedAt=%s]"
                .formatted(name, fencingToken, period, status, begunAt, endedAt);
    }

    /** The state of a run of a task. All states except {@link #RUNNING} are final. */
    public enum Status {
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
}
