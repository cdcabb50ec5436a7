package io.github.holdfast.entity;

import jakarta.persistence.Access;
import jakarta.persistence.AccessType;
import jakarta.persistence.Cacheable;
import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.ExcludeDefaultListeners;
import jakarta.persistence.Id;
import jakarta.persistence.IdClass;
import jakarta.persistence.Table;
import java.io.Serializable;
import java.time.Instant;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.type.SqlTypes;
import org.jspecify.annotations.Nullable;

/**
 * The row of one holder of a lock that several hold at the same time, or of one holder of a semaphore's permits. The table is for
 * shared locks and semaphores, which this version does not have yet: nobody writes it. The row of an exclusive lock contains its
 * only holder.
 *
 * <p>Only queries use the rows, so this class has no accessors.
 */
@Entity(name = "HoldfastHolder")
@Table(name = "lock_holder")
@IdClass(LockHolder.Key.class)
@Access(AccessType.FIELD)
@Cacheable(false)
@ExcludeDefaultListeners
class LockHolder {

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
    private String name;

    /** The token of the holder's grant. No two grants of a name have the same token. */
    @Id
    @Column(name = "fencing_token", nullable = false)
    private long fencingToken;

    /** The owner that holds the lock or the permits. */
    @Column(name = "owner", length = LockEntity.MAX_OWNER_LENGTH, nullable = false)
    private String owner;

    /** The node that keeps the hold alive; null if it is held by a lease. */
    @Column(name = "node_id", length = 64)
    private @Nullable String nodeId;

    /** How many permits of a semaphore the holder has; 1 for a shared lock. */
    @Column(name = "permits", nullable = false)
    private int permits;

    /** When the lock or the permits were granted, by the database's clock. */
    @Column(name = "acquired_at", nullable = false)
    @JdbcTypeCode(SqlTypes.TIMESTAMP_UTC)
    private Instant acquiredAt;

    /** When the lease ends, by the database's clock; null if the hold lives as long as its node. */
    @Column(name = "expires_at")
    @JdbcTypeCode(SqlTypes.TIMESTAMP_UTC)
    private @Nullable Instant expiresAt;

    /** Describes the holder for people: host, process, thread; null if unknown. */
    @Column(name = "holder", length = LockEntity.MAX_HOLDER_LENGTH)
    private @Nullable String holder;

    /** For the persistence provider. It sets every field before other code sees the instance. */
    @SuppressWarnings("NullAway.Init")
    protected LockHolder() {}
}
