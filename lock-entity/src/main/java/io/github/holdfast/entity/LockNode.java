package io.github.holdfast.entity;

import jakarta.persistence.Access;
import jakarta.persistence.AccessType;
import jakarta.persistence.Cacheable;
import jakarta.persistence.Column;
import jakarta.persistence.Convert;
import jakarta.persistence.Entity;
import jakarta.persistence.ExcludeDefaultListeners;
import jakarta.persistence.Id;
import jakarta.persistence.Table;
import jakarta.persistence.Version;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import org.hibernate.annotations.ColumnDefault;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.type.SqlTypes;
import org.jspecify.annotations.Nullable;

/**
 * The row of one running lock service, called a node. A heartbeat extends the node's lease. Locks held through the node last as
 * long as that lease.
 *
 * <p>An id is never reused. {@code ended} never changes back to false, so an ended node cannot come back to life. Instances are
 * immutable after loading.
 */
@Entity(name = "HoldfastNode")
@Table(name = "lock_node")
@Access(AccessType.FIELD)
@Cacheable(false)
@ExcludeDefaultListeners
public class LockNode {

    @Id
    @Column(name = "id", length = 64, nullable = false)
    @Convert(disableConversion = true)
    private String id;

    @Column(name = "started_at", nullable = false)
    @Convert(disableConversion = true)
    @JdbcTypeCode(SqlTypes.TIMESTAMP_UTC)
    private Instant startedAt;

    @Column(name = "expires_at", nullable = false)
    @Convert(disableConversion = true)
    @JdbcTypeCode(SqlTypes.TIMESTAMP_UTC)
    private Instant expiresAt;

    @Column(name = "ended", nullable = false)
    @Convert(disableConversion = true)
    @JdbcTypeCode(SqlTypes.BOOLEAN)
    private boolean ended;

    @Column(name = "description", length = 255)
    @Convert(disableConversion = true)
    private @Nullable String description;

    /** The number by which other nodes wake this node; null if this node polls. The node itself writes it. */
    @Column(name = "bell")
    @Convert(disableConversion = true)
    private @Nullable Long bell;

    @Version
    @Column(name = "version", nullable = false)
    @Convert(disableConversion = true)
    private long version;

    @Column(name = "waits_until")
    @Convert(disableConversion = true)
    @JdbcTypeCode(SqlTypes.TIMESTAMP_UTC)
    private @Nullable Instant waitsUntil;

    /** How long the node lives without a heartbeat; 0 if its service was of a version that did not write it. */
    @Column(name = "lease_millis", nullable = false)
    @Convert(disableConversion = true)
    @ColumnDefault("0")
    private long leaseMillis;

    /** For the persistence provider. It sets every field before other code sees the instance. */
    @SuppressWarnings("NullAway.Init")
    protected LockNode() {}

    /**
     * Creates a node with the values of its row.
     *
     * @param id never reused, at most 64 characters
     * @param startedAt when the node registered, by the database's clock
     * @param expiresAt when its lease ends, by the database's clock
     * @param ended whether the node was ended
     */
    public LockNode(String id, Instant startedAt, Instant expiresAt, boolean ended) {
        this.id = Objects.requireNonNull(id, "id");
        this.startedAt = Objects.requireNonNull(startedAt, "startedAt");
        this.expiresAt = Objects.requireNonNull(expiresAt, "expiresAt");
        this.ended = ended;
    }

    /** Returns the id, which is never reused. */
    public String id() {
        return id;
    }

    /** Returns when the node registered, by the database's clock. */
    public Instant startedAt() {
        return startedAt;
    }

    /** Returns when the node's lease ends, by the database's clock, unless a heartbeat extends it. */
    public Instant expiresAt() {
        return expiresAt;
    }

    /** Returns how long the node lives without a heartbeat; zero if its service was of a version that did not write it. */
    public Duration lease() {
        return Duration.ofMillis(leaseMillis);
    }

    /** Returns whether the node was ended. This never changes back. */
    public boolean isEnded() {
        return ended;
    }

    /** Describes the application, host and process for people, or null. */
    public @Nullable String description() {
        return description;
    }

    /** Returns the version. Every write increases it, except the write that only marks the node as waiting; a heartbeat by a random number. */
    public long version() {
        return version;
    }

    /**
     * Returns whether the node was ended when its service had no locks any more: by that service, or by another one that has seen its
     * version unchanged for a whole lease. Its locks are then free at once. Otherwise it was ended because its lease had expired by the
     * database's clock, or by hand. An ended node stores the difference in {@link #waitsUntil()}, which then equals the start. A living
     * node's value never equals the start.
     */
    public boolean isStopped() {
        return ended && startedAt.equals(waitsUntil);
    }

    /**
     * Returns until when releases notify the node, by the database's clock. The node sets it when its threads wait for a lock;
     * null if they never waited. Once the node is ended, only {@link #isStopped()} uses it.
     */
    public @Nullable Instant waitsUntil() {
        return waitsUntil;
    }

    /**
     * Whether the node had left its locks at this instant of the database's clock. A node that its service ended has left them. One
     * that was ended otherwise, perhaps by hand, has left them when its lease has expired: by then its service has noticed.
     */
    boolean hasLeft(Instant since) {
        return isStopped() || (ended && !expiresAt.isAfter(since));
    }

    /**
     * Whether the node's lease has expired but no service has ended the node yet.
     *
     * @param dbNow the database's clock, read in the same statement as this node
     */
    boolean isOverdue(Instant dbNow) {
        return !ended && !expiresAt.isAfter(dbNow);
    }
}
