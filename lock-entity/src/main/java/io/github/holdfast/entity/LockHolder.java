package io.github.holdfast.entity;

import jakarta.persistence.Access;
import jakarta.persistence.AccessType;
import jakarta.persistence.Cacheable;
import jakarta.persistence.Column;
import jakarta.persistence.Convert;
import jakarta.persistence.Entity;
import jakarta.persistence.ExcludeDefaultListeners;
import jakarta.persistence.Id;
import jakarta.persistence.IdClass;
import jakarta.persistence.Table;
import java.io.Serializable;
import java.time.Duration;
import java.time.Instant;
import java.util.function.Predicate;
import org.hibernate.annotations.ColumnDefault;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.type.SqlTypes;
import org.jspecify.annotations.Nullable;

/**
 * The row of one holder of a semaphore's permits, or of a shared lock: a snapshot from the time of the read. Several holders of one
 * name have one row each. The row of an exclusive lock contains its only holder.
 *
 * <p>The owner deletes its row at its release. Any service may delete the row of a dead holder. Instances are immutable after
 * loading.
 */
@Entity(name = "HoldfastHolder")
@Table(name = "lock_holder")
@IdClass(LockHolder.Key.class)
@Access(AccessType.FIELD)
@Cacheable(false)
@ExcludeDefaultListeners
public class LockHolder {

    /**
     * The key of a holder.
     *
     * @param name the name of the lock
     * @param fencingToken the token of the holder's grant
     */
    record Key(String name, long fencingToken) implements Serializable {}

    /** The name of the lock. */
    @Id
    @Column(name = "name", length = LockEntity.MAX_NAME_LENGTH, nullable = false)
    @Convert(disableConversion = true)
    private String name;

    /** The token of the holder's grant. No two grants of a name have the same token. */
    @Id
    @Column(name = "fencing_token", nullable = false)
    @Convert(disableConversion = true)
    private long fencingToken;

    /** The owner that holds the lock or the permits. */
    @Column(name = "owner", length = LockEntity.MAX_OWNER_LENGTH, nullable = false)
    @Convert(disableConversion = true)
    private String owner;

    /** The node that keeps the hold alive; null if it is held by a lease. */
    @Column(name = "node_id", length = 64)
    @Convert(disableConversion = true)
    private @Nullable String nodeId;

    /** How many permits of a semaphore the holder has; 1 for a shared lock. */
    @Column(name = "permits", nullable = false)
    @Convert(disableConversion = true)
    private int permits;

    /** When the lock or the permits were granted, by the database's clock. */
    @Column(name = "acquired_at", nullable = false)
    @Convert(disableConversion = true)
    @JdbcTypeCode(SqlTypes.TIMESTAMP_UTC)
    private Instant acquiredAt;

    /** When the lease ends, by the database's clock; null if the hold lives as long as its node. */
    @Column(name = "expires_at")
    @Convert(disableConversion = true)
    @JdbcTypeCode(SqlTypes.TIMESTAMP_UTC)
    private @Nullable Instant expiresAt;

    /** Describes the holder for people: host, process, thread; null if unknown. */
    @Column(name = "holder", length = LockEntity.MAX_HOLDER_LENGTH)
    @Convert(disableConversion = true)
    private @Nullable String holder;

    /** Changed by writes that must change a value: those of commit guards where several servers write, and renewals. */
    @Column(name = "guard_count", nullable = false)
    @Convert(disableConversion = true)
    @ColumnDefault("0")
    @SuppressWarnings("unused")
    private long guardCount;

    /**
     * The owner of permits, or of a share, that were released by force. No acquisition has it, so all writes of the previous owner miss
     * the row.
     */
    public static final String FORCED = "*forced";

    /** For the persistence provider. It sets every field before other code sees the instance. */
    @SuppressWarnings("NullAway.Init")
    protected LockHolder() {}

    /** Whether a holder keeps its permits, at one instant of the database's clock. */
    public enum State {
        /** The holder keeps its permits. */
        ALIVE,

        /**
         * The node of the holder has not been ended, although its lease has expired. A separate write must end the node first, because
         * a heartbeat may be on its way.
         */
        NODE_EXPIRED,

        /** The holder's lease has expired, or its node has left it. Any service may delete the row. */
        DEAD
    }

    /**
     * Returns the state of the holder.
     *
     * @param node the node that this row refers to; null if it refers to none, or if the node has no row
     * @param dbNow the database's clock, read in the same statement as this row
     * @param tolerance how long the lease of the holder, or of its node, must be over
     */
    public State state(@Nullable LockNode node, Instant dbNow, Duration tolerance) {
        Instant since = dbNow.minus(tolerance);
        if (LockEntity.isLeft(nodeId, expiresAt, node, since)) {
            return State.DEAD;
        }
        return nodeId != null && node != null && node.isOverdue(since) ? State.NODE_EXPIRED : State.ALIVE;
    }

    /**
     * Does the same as {@link #state(LockNode, Instant, Duration)}, but the caller judges whether the holder's node is dead.
     *
     * @param isDead whether a node that has not been ended must be ended before the row is deleted
     */
    public State state(@Nullable LockNode node, Instant dbNow, Duration tolerance, Predicate<LockNode> isDead) {
        if (nodeId == null || node == null || node.isEnded()) {
            return state(node, dbNow, tolerance);
        }
        return isDead.test(node) ? State.NODE_EXPIRED : State.ALIVE;
    }

    /** Returns the name of the semaphore or the lock. */
    public String name() {
        return name;
    }

    /** Returns the token of the holder's grant. Tokens of one name grow over all holders. */
    public long fencingToken() {
        return fencingToken;
    }

    /**
     * Whether the permits or the share were released by force. They count until the lease of the row ends, because the previous owner
     * may not have noticed yet.
     */
    public boolean isForced() {
        return owner.equals(FORCED);
    }

    /** Returns the owner. */
    public String owner() {
        return owner;
    }

    /** Returns the node that keeps the hold alive, or null for a lease. */
    public @Nullable String nodeId() {
        return nodeId;
    }

    /** Returns how many permits the holder has; 1 for a shared lock. */
    public int permits() {
        return permits;
    }

    /** Returns when the permits were granted, by the database's clock. */
    public Instant acquiredAt() {
        return acquiredAt;
    }

    /** Returns when the lease ends, by the database's clock; null if the hold lasts as long as its node. */
    public @Nullable Instant expiresAt() {
        return expiresAt;
    }

    /** Describes the holder for people, or null. */
    public @Nullable String holder() {
        return holder;
    }
}
