package io.github.holdfast.entity;

import jakarta.persistence.Access;
import jakarta.persistence.AccessType;
import jakarta.persistence.Cacheable;
import jakarta.persistence.Column;
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
 * One run of a task: which grant of the task's lock it ran under, and what became of it.
 *
 * <p>The row is inserted together with the grant, so a token has at most one run, and a name at most one that is {@link
 * RunStatus#RUNNING}. It is updated once, on the condition that it still is, so it needs no version.
 *
 * <p>Instances do not change once they are loaded.
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
     * What a run is known by.
     *
     * @param name of the task and its lock
     * @param fencingToken of the grant
     */
    public record Key(String name, long fencingToken) implements Serializable {}

    @Id
    @Column(name = "name", length = LockEntity.MAX_NAME_LENGTH, nullable = false)
    private String name;

    @Id
    @Column(name = "fencing_token", nullable = false)
    private long fencingToken;

    @Column(name = "period")
    private @Nullable Long period;

    @Column(name = "node_id", length = 64)
    private @Nullable String nodeId;

    @Column(name = "holder", length = LockEntity.MAX_HOLDER_LENGTH)
    private @Nullable String holder;

    @Column(name = "begun_at", nullable = false)
    @JdbcTypeCode(SqlTypes.TIMESTAMP_UTC)
    private Instant begunAt;

    @Column(name = "ended_at")
    @JdbcTypeCode(SqlTypes.TIMESTAMP_UTC)
    private @Nullable Instant endedAt;

    /** Not an enum type of the database, which Hibernate would expect on MySQL and H2. */
    @Column(name = "status", length = 16, nullable = false)
    @Enumerated(EnumType.STRING)
    @JdbcTypeCode(SqlTypes.VARCHAR)
    private RunStatus status;

    @Column(name = "error", length = MAX_ERROR_LENGTH)
    private @Nullable String error;

    /** For the persistence provider, which sets every field before anybody sees the instance. */
    @SuppressWarnings("NullAway.Init")
    protected LockRun() {}

    /**
     * Which period an instant lies in: periods have one length, follow each other without a gap, and number 0 begins at the
     * beginning of 1970, UTC.
     *
     * @param period the length, at least a microsecond
     */
    public static long periodOf(Instant instant, Duration period) {
        return Math.floorDiv(micros(instant), micros(period));
    }

    /**
     * Whether this run began in the current period or, the clock having been set back, after it. The instants are compared, not the
     * numbers, because the last run may have counted periods of another length.
     *
     * @param period the length of the periods, at least a microsecond
     * @param dbNow the database's clock
     */
    public boolean hasBegunSincePeriodBegan(Duration period, Instant dbNow) {
        return periodOf(begunAt, period) >= periodOf(dbNow, period);
    }

    /** The beginning of a summary of an error that is longer than {@link #MAX_ERROR_LENGTH}, without half a surrogate pair. */
    public static String shortened(String error) {
        return Text.shortened(error, MAX_ERROR_LENGTH);
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

    /** Returns the token of the grant under which it ran. */
    public long fencingToken() {
        return fencingToken;
    }

    /** Returns the number of the period in which it began, or null if the task has no periods. */
    public @Nullable Long period() {
        return period;
    }

    /** Returns the node whose life the lock shared, or null if it had a lease. */
    public @Nullable String nodeId() {
        return nodeId;
    }

    /** Returns who ran it, for people: host, process, thread; null if that is not known. */
    public @Nullable String holder() {
        return holder;
    }

    /** Returns the database's time at which it was found to be due. */
    public Instant begunAt() {
        return begunAt;
    }

    /** Returns the database's time at which its end was written down, or null if it is running. */
    public @Nullable Instant endedAt() {
        return endedAt;
    }

    /** Returns what became of it. */
    public RunStatus status() {
        return status;
    }

    /** Returns why it failed or was lost, for people; null if it did neither, or nobody could tell. */
    public @Nullable String error() {
        return error;
    }

    @Override
    public String toString() {
        return "LockRun[name=%s, fencingToken=%d, period=%s, status=%s, begunAt=%s, endedAt=%s]"
                .formatted(name, fencingToken, period, status, begunAt, endedAt);
    }
}
