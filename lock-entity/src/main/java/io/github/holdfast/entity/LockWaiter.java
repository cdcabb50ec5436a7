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
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.type.SqlTypes;
import org.jspecify.annotations.Nullable;

/**
 * The row of one waiter for a lock. The waiter inserts it, and deletes it when it waits no longer.
 *
 * <p>The rows of a name, ordered by their key, are its queue. They show the waiters. They never decide which waiter gets the lock: only the
 * compare-and-set of the lock's row does that.
 *
 * <p>Only queries use the rows, so this class has no accessors.
 */
@Entity(name = "HoldfastWaiter")
@Table(name = "lock_waiter")
@IdClass(LockWaiter.Key.class)
@Access(AccessType.FIELD)
@Cacheable(false)
@ExcludeDefaultListeners
class LockWaiter {

    /**
     * The key of a waiter. Its order is the order of the queue.
     *
     * @param name the name of the lock
     * @param since the time since which it waits
     * @param id the id that the waiter has made
     */
    record Key(String name, long since, String id) implements Serializable {}

    /** The name of the lock. */
    @Id
    @Column(name = "name", length = LockEntity.MAX_NAME_LENGTH, nullable = false)
    @Convert(disableConversion = true)
    private String name;

    /** Since when it waits: the database's clock, as the waiter last read it, in microseconds since 1970. */
    @Id
    @Column(name = "since", nullable = false)
    @Convert(disableConversion = true)
    private long since;

    /** Made by the waiter, and never reused. */
    @Id
    @Column(name = "id", length = 64, nullable = false)
    @Convert(disableConversion = true)
    private String id;

    /** The node that the waiter belongs to. If that node has ended, no thread waits any more. */
    @Column(name = "node_id", length = 64, nullable = false)
    @Convert(disableConversion = true)
    private String nodeId;

    /**
     * What the waiter requests: X for the exclusive lock, and in this version also for permits of a semaphore. S for a shared lock
     * and P for permits are for later versions.
     */
    @Column(name = "mode", length = 1, nullable = false)
    @Convert(disableConversion = true)
    private String mode;

    /** How many permits of a semaphore the waiter requests; 1 for a lock. */
    @Column(name = "permits", nullable = false)
    @Convert(disableConversion = true)
    private int permits;

    /** Whether the waiter asks to be served in the order of the queue. */
    @Column(name = "fair", nullable = false)
    @Convert(disableConversion = true)
    @JdbcTypeCode(SqlTypes.BOOLEAN)
    private boolean fair;

    /** Describes the waiter for people: host, process, thread; null if unknown. */
    @Column(name = "holder", length = LockEntity.MAX_HOLDER_LENGTH)
    @Convert(disableConversion = true)
    private @Nullable String holder;

    /** For the persistence provider. It sets every field before other code sees the instance. */
    @SuppressWarnings("NullAway.Init")
    protected LockWaiter() {}
}
