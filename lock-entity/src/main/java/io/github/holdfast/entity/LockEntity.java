package io.github.holdfast.entity;

import jakarta.persistence.Access;
import jakarta.persistence.AccessType;
import jakarta.persistence.Cacheable;
import jakarta.persistence.Column;
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
 * One named lock, as its row stood when the database was asked.
 *
 * <p>Every change of the row is a compare-and-set: read it together with the database's clock, judge it with
 * {@link #standing}, compute the next state with {@link #granted}, {@link #reentered},
 * {@link #released}, {@link #heldTimes} or {@link #vacated}, and write that state on the condition that version, token and owner are still those of the
 * snapshot. The next states carry the instants of their origin: the write itself sets them by the database's clock,
 * because a pause between reading and writing would otherwise give two holders.
 *
 * <p>Instances do not change once they are loaded.
 */
@Entity(name = "HoldfastLock")
@Table(name = "distributed_lock")
@Access(AccessType.FIELD)
@Cacheable(false)
@ExcludeDefaultListeners
public class LockEntity {

    /** The longest name, in UTF-16 code units. */
    public static final int MAX_NAME_LENGTH = 255;

    /** The longest owner, in UTF-16 code units. */
    public static final int MAX_OWNER_LENGTH = 128;

    /** The longest description of a holder, in UTF-16 code units. */
    public static final int MAX_HOLDER_LENGTH = 255;

    @Id
    @Column(name = "name", length = MAX_NAME_LENGTH, nullable = false)
    private String name;

    @Column(name = "owner", length = MAX_OWNER_LENGTH)
    private @Nullable String owner;

    @Column(name = "node_id", length = 64)
    private @Nullable String nodeId;

    @Column(name = "hold_count", nullable = false)
    private int holdCount;

    @Column(name = "fencing_token", nullable = false)
    private long fencingToken;

    @Column(name = "acquired_at")
    @JdbcTypeCode(SqlTypes.TIMESTAMP_UTC)
    private @Nullable Instant acquiredAt;

    @Column(name = "expires_at")
    @JdbcTypeCode(SqlTypes.TIMESTAMP_UTC)
    private @Nullable Instant expiresAt;

    @Column(name = "available_at")
    @JdbcTypeCode(SqlTypes.TIMESTAMP_UTC)
    private @Nullable Instant availableAt;

    @Column(name = "holder", length = MAX_HOLDER_LENGTH)
    private @Nullable String holder;

    @Version
    @Column(name = "version", nullable = false)
    private long version;

    /** Changed by guards of commits where several servers write the database; else it says nothing. */
    @Column(name = "guard_count", nullable = false)
    @ColumnDefault("0")
    private long guardCount;

    /** For the persistence provider, which sets every field before anybody sees the instance. */
    @SuppressWarnings("NullAway.Init")
    protected LockEntity() {}

    /**
     * A lock that nobody holds.
     *
     * @param name what is locked
     * @param epoch where version and token start: the database's clock in microseconds since 1970, so that both stay
     *     monotonic when a row is purged and created again
     */
    public LockEntity(String name, long epoch) {
        this.name = Objects.requireNonNull(name, "name");
        this.version = epoch;
        this.fencingToken = epoch;
    }

    private LockEntity(LockEntity origin) {
        this.name = origin.name;
        this.owner = origin.owner;
        this.nodeId = origin.nodeId;
        this.holdCount = origin.holdCount;
        this.fencingToken = origin.fencingToken;
        this.acquiredAt = origin.acquiredAt;
        this.expiresAt = origin.expiresAt;
        this.availableAt = origin.availableAt;
        this.holder = origin.holder;
        this.version = origin.version + 1;
        this.guardCount = origin.guardCount;
    }

    /**
     * What this row says to one who wants the lock.
     *
     * @param claimant the owner who asks
     * @param claimantNode the node the claimant would hold it through, or null if by a lease
     * @param node the node that this row names, or null if it names none or the node's row does not exist
     * @param dbNow the database's clock, read in the same statement as this row
     * @param tolerance for how long a lease, or that of a node, must have been over before the lock is taken from its holder,
     *     because another machine, whose clock is ahead, may have become the database since. Until then it is nobody's: the holder
     *     has no right to it any more
     */
    public Standing standing(
            String claimant,
            @Nullable String claimantNode,
            @Nullable LockNode node,
            Instant dbNow,
            Duration tolerance) {
        if (owner == null || isLeft(node, dbNow.minus(tolerance))) {
            return availableAt == null || !availableAt.isAfter(dbNow) ? Standing.FREE : Standing.DELAYED;
        }
        if (nodeId != null && node != null && node.isOverdue(dbNow.minus(tolerance))) {
            return Standing.NODE_OVERDUE;
        }
        return isReentrantFor(claimant, claimantNode) && isValid(node, dbNow) ? Standing.MINE : Standing.HELD;
    }

    /** A node that is absent counts as ended: late writes of a purged node must not hold a lock for ever. */
    private boolean isLeft(@Nullable LockNode node, Instant since) {
        if (nodeId != null) {
            return node == null || node.isEnded();
        }
        return expiresAt != null && !expiresAt.isAfter(since);
    }

    /** Whether the holder still has a right to it. */
    private boolean isValid(@Nullable LockNode node, Instant dbNow) {
        return nodeId != null
                ? node != null && !node.isEnded() && !node.isOverdue(dbNow)
                : expiresAt == null || expiresAt.isAfter(dbNow);
    }

    /** Another node's death would end a hold that this node believes its own, so a node re-enters only what it holds. */
    private boolean isReentrantFor(String claimant, @Nullable String claimantNode) {
        return claimant.equals(owner) && (nodeId == null || nodeId.equals(claimantNode));
    }

    /**
     * How long this row keeps everybody from being granted the lock, as far as it can tell: until the lease is over and
     * the lock is available. A renewal makes it longer and a release shorter.
     *
     * @param dbNow the database's clock, read in the same statement as this row
     * @param tolerance as for {@link #standing}
     * @return zero if it is free; null if it is held through a node, which has no end to wait for
     */
    public @Nullable Duration timeUntilFree(Instant dbNow, Duration tolerance) {
        if (owner != null && expiresAt == null) {
            return null;
        }
        Duration untilAvailable = until(availableAt, dbNow);
        if (owner == null) {
            return untilAvailable;
        }
        Duration untilExpiry = until(expiresAt, dbNow.minus(tolerance));
        return untilExpiry.compareTo(untilAvailable) > 0 ? untilExpiry : untilAvailable;
    }

    private static Duration until(@Nullable Instant instant, Instant dbNow) {
        return instant == null || !instant.isAfter(dbNow) ? Duration.ZERO : Duration.between(dbNow, instant);
    }

    /**
     * This row after a grant, of a free lock or of one whose holder is dead: a new token and a hold count of 1.
     *
     * @param newOwner the owner
     * @param newNode the node that keeps the hold alive, or null for a lease
     * @param newHolder who that is, for people; cut at {@link #MAX_HOLDER_LENGTH}
     */
    public LockEntity granted(String newOwner, @Nullable String newNode, @Nullable String newHolder) {
        LockEntity next = new LockEntity(this);
        next.owner = Objects.requireNonNull(newOwner, "newOwner");
        next.nodeId = newNode;
        next.holdCount = 1;
        next.fencingToken = fencingToken + 1;
        next.holder = newHolder == null ? null : shortened(newHolder);
        return next;
    }

    /** The beginning of a description that is longer than {@link #MAX_HOLDER_LENGTH}, without half a surrogate pair. */
    public static String shortened(String holder) {
        return Text.shortened(holder, MAX_HOLDER_LENGTH);
    }

    /**
     * This row after a nested acquisition by its owner: the same token, one hold more.
     *
     * @throws IllegalStateException if nobody holds it, or the count would overflow
     */
    public LockEntity reentered() {
        if (holdCount == Integer.MAX_VALUE) {
            throw new IllegalStateException("Lock '" + name + "' is already held " + holdCount + " times");
        }
        return heldTimes(holdCount + 1);
    }

    /**
     * This row after its owner gave one hold back; the last one frees it. The token stays, so that it never restarts,
     * and so does {@link #availableAt()}.
     *
     * @throws IllegalStateException if nobody holds it
     */
    public LockEntity released() {
        return heldTimes(Math.max(0, holdCount - 1));
    }

    /**
     * This row after its owner, who knows how often it holds the lock, wrote that down: the same token; 0 frees it.
     *
     * @param times how often the owner holds it, 0 or more
     * @throws IllegalArgumentException if it is negative
     * @throws IllegalStateException if nobody holds it
     */
    public LockEntity heldTimes(int times) {
        if (times < 0) {
            throw new IllegalArgumentException("Lock '" + name + "' cannot be held " + times + " times");
        }
        if (owner == null) {
            throw new IllegalStateException("Lock '" + name + "' is not held");
        }
        LockEntity next = new LockEntity(this);
        next.holdCount = times;
        if (times == 0) {
            next.free();
        }
        return next;
    }

    /**
     * This row after it was taken from its holder, who is dead or was overruled: free, with a new token, so that a commit that
     * is guarded by the old one fails.
     */
    public LockEntity vacated() {
        LockEntity next = new LockEntity(this);
        next.holdCount = 0;
        next.fencingToken = fencingToken + 1;
        next.free();
        return next;
    }

    private void free() {
        owner = null;
        nodeId = null;
        holder = null;
    }

    /** Whether this row is a hold of {@code other}'s owner under {@code other}'s token: the same grant. */
    public boolean isSameGrantAs(LockEntity other) {
        return owner != null
                && owner.equals(other.owner)
                && fencingToken == other.fencingToken
                && name.equals(other.name);
    }

    /** Returns what is locked. */
    public String name() {
        return name;
    }

    /** Returns the owner, or null if nobody holds the lock. */
    public @Nullable String owner() {
        return owner;
    }

    /** Returns the node whose life the hold shares, or null if the lock is free or held by a lease. */
    public @Nullable String nodeId() {
        return nodeId;
    }

    /** Returns how many nested acquisitions the owner has; 0 when the lock is free. */
    public int holdCount() {
        return holdCount;
    }

    /** Returns the token of the last grant; the next grant has a greater one. */
    public long fencingToken() {
        return fencingToken;
    }

    /** Returns the database's time of the last grant, or null if there was none. */
    public @Nullable Instant acquiredAt() {
        return acquiredAt;
    }

    /**
     * Returns when the lease ends, by the database's clock; null if the lock is held through a node. Of a free lock: when
     * it was given back or its row was created.
     */
    public @Nullable Instant expiresAt() {
        return expiresAt;
    }

    /** Returns before which instant of the database's clock nobody may be granted the lock; null if there is none. */
    public @Nullable Instant availableAt() {
        return availableAt;
    }

    /** Returns who holds the lock, for people: host, process, thread; null if nobody does. */
    public @Nullable String holder() {
        return holder;
    }

    /** Returns the version, which grows by one with every write, except those of guards of commits. */
    public long version() {
        return version;
    }

    @Override
    public String toString() {
        return "LockEntity[name=%s, owner=%s, nodeId=%s, holdCount=%d, fencingToken=%d, expiresAt=%s, version=%d]"
                .formatted(name, owner, nodeId, holdCount, fencingToken, expiresAt, version);
    }
}
