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
import java.util.List;
import java.util.Objects;
import java.util.function.Predicate;
import org.hibernate.annotations.ColumnDefault;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.type.SqlTypes;
import org.jspecify.annotations.Nullable;

/**
 * The row of one named lock: a snapshot from the time of the read.
 *
 * <p>Every change of the row is a compare-and-set. Read the row together with the database's clock. Decide with {@link
 * #availability}. Compute the next state with {@link #granted}, {@link #reentered}, {@link #released}, {@link #withHoldCount} or
 * {@link #takenFromHolder}. Then write that state on the condition that version, token and owner still equal those of the
 * snapshot. The next state keeps the instants of the snapshot. The write itself sets the new ones by the database's clock.
 * Otherwise a pause between reading and writing could lead to two holders.
 *
 * <p>Instances are immutable after loading.
 */
@Entity(name = "HoldfastLock")
@Table(name = "distributed_lock")
@Access(AccessType.FIELD)
@Cacheable(false)
@ExcludeDefaultListeners
public class LockEntity {

    /** The hold count of a lock whose holders have rows of their own. Its owner begins with {@code *}. */
    private static final int SHARED = -1;

    /** The longest name, in UTF-16 code units. */
    public static final int MAX_NAME_LENGTH = 255;

    /** The longest owner, in UTF-16 code units. */
    public static final int MAX_OWNER_LENGTH = 128;

    /** The longest description of a holder, in UTF-16 code units. */
    public static final int MAX_HOLDER_LENGTH = 255;

    /**
     * The classes that a persistence unit needs for the locks. Some of them are hidden. A unit that is configured by code takes
     * this list.
     */
    public static final List<Class<?>> ENTITIES = List.of(
            LockEntity.class, LockNode.class, LockAudit.class, LockRun.class, LockHolder.class, LockWaiter.class);

    @Id
    @Column(name = "name", length = MAX_NAME_LENGTH, nullable = false)
    @Convert(disableConversion = true)
    private String name;

    @Column(name = "owner", length = MAX_OWNER_LENGTH)
    @Convert(disableConversion = true)
    private @Nullable String owner;

    @Column(name = "node_id", length = 64)
    @Convert(disableConversion = true)
    private @Nullable String nodeId;

    /** The number of nested holds; {@link #SHARED} if the holders have rows of their own. */
    @Column(name = "hold_count", nullable = false)
    @Convert(disableConversion = true)
    private int holdCount;

    @Column(name = "fencing_token", nullable = false)
    @Convert(disableConversion = true)
    private long fencingToken;

    @Column(name = "acquired_at")
    @Convert(disableConversion = true)
    @JdbcTypeCode(SqlTypes.TIMESTAMP_UTC)
    private @Nullable Instant acquiredAt;

    @Column(name = "expires_at")
    @Convert(disableConversion = true)
    @JdbcTypeCode(SqlTypes.TIMESTAMP_UTC)
    private @Nullable Instant expiresAt;

    @Column(name = "available_at")
    @Convert(disableConversion = true)
    @JdbcTypeCode(SqlTypes.TIMESTAMP_UTC)
    private @Nullable Instant availableAt;

    @Column(name = "holder", length = MAX_HOLDER_LENGTH)
    @Convert(disableConversion = true)
    private @Nullable String holder;

    /** The limit of a semaphore; null for a lock. */
    @Column(name = "permits")
    @Convert(disableConversion = true)
    private @Nullable Integer permits;

    /**
     * Until when an exclusive waiter keeps new shared holders out, by the database's clock; null if none does. It counts only while
     * the lock is shared.
     */
    @Column(name = "wanted_until")
    @Convert(disableConversion = true)
    @JdbcTypeCode(SqlTypes.TIMESTAMP_UTC)
    private @Nullable Instant wantedUntil;

    @Version
    @Column(name = "version", nullable = false)
    @Convert(disableConversion = true)
    private long version;

    /** Changed by commit guards where several servers write the database. It has no other meaning. */
    @Column(name = "guard_count", nullable = false)
    @Convert(disableConversion = true)
    @ColumnDefault("0")
    private long guardCount;

    /** For the persistence provider. It sets every field before other code sees the instance. */
    @SuppressWarnings("NullAway.Init")
    protected LockEntity() {}

    /**
     * Creates the row of a lock that no owner holds.
     *
     * @param name the name of the lock
     * @param epoch the first version and token: the database's clock in microseconds since 1970. So both keep growing when a row
     *     is purged and created again
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
        this.permits = origin.permits;
        this.wantedUntil = origin.wantedUntil;
        this.version = origin.version + 1;
        this.guardCount = origin.guardCount;
    }

    /**
     * Whether the lock was last granted to shared holders. Each of them has a row of its own, which shows whether it still holds the
     * lock. There may be none any more.
     */
    public boolean isShared() {
        return holdCount == SHARED && permits == null;
    }

    /** Whether an exclusive waiter keeps new shared holders out, at this instant of the database's clock. */
    public boolean isReserved(Instant dbNow) {
        return isShared() && wantedUntil != null && wantedUntil.isAfter(dbNow);
    }

    /**
     * Returns the availability of the lock for an owner. A shared lock counts as held by others.
     *
     * @param claimant the owner that requests the lock
     * @param claimantNode the node through which the claimant would hold it, or null for a lease
     * @param node the node that this row refers to; null if it refers to none, or if the node has no row
     * @param dbNow the database's clock, read in the same statement as this row
     * @param tolerance how long the lease of the lock, or of its node, must be over before a takeover. After a failover, the new
     *     database server's clock may be ahead. During the tolerance no owner holds the lock, because the previous holder's right has
     *     ended
     */
    public LockAvailability availability(
            String claimant,
            @Nullable String claimantNode,
            @Nullable LockNode node,
            Instant dbNow,
            Duration tolerance) {
        if (owner == null || isLeft(nodeId, expiresAt, node, dbNow.minus(tolerance))) {
            return availableAt == null || !availableAt.isAfter(dbNow)
                    ? LockAvailability.FREE
                    : LockAvailability.NOT_YET_AVAILABLE;
        }
        if (nodeId != null && node != null && node.isOverdue(dbNow.minus(tolerance))) {
            return LockAvailability.HOLDER_NODE_EXPIRED;
        }
        return isReentrantFor(claimant, claimantNode) && isValid(node, dbNow)
                ? LockAvailability.HELD_BY_CLAIMANT
                : LockAvailability.HELD_BY_OTHER;
    }

    /**
     * Does the same as {@link #availability(String, String, LockNode, Instant, Duration)}, but the caller judges whether the holder's
     * node is dead.
     *
     * @param isDead whether a node that has not been ended must be ended before the lock is taken
     */
    public LockAvailability availability(
            String claimant,
            @Nullable String claimantNode,
            @Nullable LockNode node,
            Instant dbNow,
            Duration tolerance,
            Predicate<LockNode> isDead) {
        if (owner == null || nodeId == null || node == null || node.isEnded()) {
            return availability(claimant, claimantNode, node, dbNow, tolerance);
        }
        if (isDead.test(node)) {
            return LockAvailability.HOLDER_NODE_EXPIRED;
        }
        return isReentrantFor(claimant, claimantNode)
                ? LockAvailability.HELD_BY_CLAIMANT
                : LockAvailability.HELD_BY_OTHER;
    }

    /**
     * Whether the holder's lease had expired at this instant, or its node had left its locks. Without a row of the node, the lease
     * that the grant wrote decides: it is as long as the node's. So the holder has noticed by then, and a late write of a purged node
     * holds no lock forever.
     */
    static boolean isLeft(
            @Nullable String nodeId, @Nullable Instant expiresAt, @Nullable LockNode node, Instant since) {
        if (nodeId != null && node != null) {
            return node.hasLeft(since);
        }
        return expiresAt == null ? nodeId != null : !expiresAt.isAfter(since);
    }

    /** Whether the holder still has a right to the lock. */
    private boolean isValid(@Nullable LockNode node, Instant dbNow) {
        return nodeId != null
                ? node != null && !node.isEnded() && !node.isOverdue(dbNow)
                : expiresAt == null || expiresAt.isAfter(dbNow);
    }

    /**
     * Whether the claimant may re-enter the lock. A node may re-enter only its own holds. The death of another node would end
     * that node's hold, and this node would not notice.
     */
    private boolean isReentrantFor(String claimant, @Nullable String claimantNode) {
        return claimant.equals(owner) && (nodeId == null || nodeId.equals(claimantNode));
    }

    /**
     * Returns the time until the lock can be granted, as far as this row shows. By then the lease has expired and the lock is
     * available. A renewal extends this time, and a release shortens it.
     *
     * @param dbNow the database's clock, read in the same statement as this row
     * @param tolerance the same as for {@link #availability}
     * @return zero if the lock is free; null if it is held through a node, because such a hold has no known end
     */
    public @Nullable Duration timeUntilFree(Instant dbNow, Duration tolerance) {
        if (owner != null && (nodeId != null || expiresAt == null)) {
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
     * Returns this row after a grant: with a new token and a hold count of 1. The lock must be free, or its holder dead.
     *
     * @param newOwner the owner
     * @param newNode the node that keeps the hold alive, or null for a lease
     * @param newHolder describes the holder for people; truncated to {@link #MAX_HOLDER_LENGTH}
     */
    public LockEntity granted(String newOwner, @Nullable String newNode, @Nullable String newHolder) {
        return granted(newOwner, newNode, newHolder, 0);
    }

    /**
     * Does the same as {@link #granted(String, String, String)}, after an unanswered grant to the same owner.
     *
     * @param doubtfulToken the greatest token that the unanswered grant may have used, or 0 for none. A failover may undo that
     *     grant. The new token is greater
     */
    public LockEntity granted(
            String newOwner, @Nullable String newNode, @Nullable String newHolder, long doubtfulToken) {
        LockEntity next = new LockEntity(this);
        next.owner = Objects.requireNonNull(newOwner, "newOwner");
        next.nodeId = newNode;
        next.holdCount = 1;
        next.fencingToken = Math.max(fencingToken, doubtfulToken) + 1;
        next.holder = newHolder == null ? null : shortened(newHolder);
        return next;
    }

    /** Truncates a description to {@link #MAX_HOLDER_LENGTH}, without splitting a surrogate pair. */
    public static String shortened(String holder) {
        return Truncation.shortened(holder, MAX_HOLDER_LENGTH);
    }

    /**
     * Returns this row after a nested acquisition by its owner: with the same token and one more hold.
     *
     * @throws IllegalStateException if no owner holds the lock, or the count would overflow
     */
    public LockEntity reentered() {
        if (holdCount == Integer.MAX_VALUE) {
            throw new IllegalStateException("Lock '" + name + "' is already held " + holdCount + " times");
        }
        return withHoldCount(holdCount + 1);
    }

    /**
     * Returns this row after its owner has released one hold. Releasing the last hold frees the lock. The token stays, so that it
     * never restarts. {@link #availableAt()} stays too.
     *
     * @throws IllegalStateException if no owner holds it
     */
    public LockEntity released() {
        return withHoldCount(Math.max(0, holdCount - 1));
    }

    /**
     * Returns this row with another hold count and the same token. A count of 0 frees the lock.
     *
     * @param times how often the owner holds the lock, 0 or more
     * @throws IllegalArgumentException if {@code times} is negative
     * @throws IllegalStateException if no owner holds it
     */
    public LockEntity withHoldCount(int times) {
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
     * Returns this row after a takeover from a dead holder, or after a forced release. The lock is free and has a new token, so
     * that a commit guarded by the old token fails.
     */
    public LockEntity takenFromHolder() {
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

    /** Whether this row and {@code other} show the same grant: both have the same owner and token. */
    public boolean isSameGrantAs(LockEntity other) {
        return owner != null
                && owner.equals(other.owner)
                && fencingToken == other.fencingToken
                && name.equals(other.name);
    }

    /** Returns the name of the lock. */
    public String name() {
        return name;
    }

    /** Returns the limit of a semaphore's permits; null if the row is that of a lock. */
    public @Nullable Integer permits() {
        return permits;
    }

    /** Returns the owner, or null if the lock is free. For a {@linkplain #isShared shared} lock, the value is no holder's owner. */
    public @Nullable String owner() {
        return owner;
    }

    /** Returns the node through which the lock is held. Null if the lock is free or held by a lease. */
    public @Nullable String nodeId() {
        return nodeId;
    }

    /** Returns the number of the owner's nested holds; 0 if the lock is free, negative if it is {@linkplain #isShared shared}. */
    public int holdCount() {
        return holdCount;
    }

    /** Returns the token of the last grant. The next grant gets a greater token. */
    public long fencingToken() {
        return fencingToken;
    }

    /** Returns the time of the last grant by the database's clock, or null if there was none. */
    public @Nullable Instant acquiredAt() {
        return acquiredAt;
    }

    /**
     * Returns the end of the lease by the database's clock; null if the lock is shared. If the lock is held through a node, it
     * counts only if the node has no row. For a free lock, this is the time of the release, or of the row's creation.
     */
    public @Nullable Instant expiresAt() {
        return expiresAt;
    }

    /** Returns the earliest time of the next grant, by the database's clock; null if there is no such limit. */
    public @Nullable Instant availableAt() {
        return availableAt;
    }

    /** Describes the holder for people: host, process, thread; null if no owner holds the lock. */
    public @Nullable String holder() {
        return holder;
    }

    /** Returns the version. Every write increments it, except the writes of commit guards. */
    public long version() {
        return version;
    }

    @Override
    public String toString() {
        return "LockEntity[name=%s, owner=%s, nodeId=%s, holdCount=%d, fencingToken=%d, expiresAt=%s, version=%d]"
                .formatted(name, owner, nodeId, holdCount, fencingToken, expiresAt, version);
    }
}
