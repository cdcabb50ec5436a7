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
import java.time.Instant;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.type.SqlTypes;
import org.jspecify.annotations.Nullable;

/**
 * The row of one act of an operator in the audit log: a forced release, or a new limit of a semaphore.
 *
 * <p>The row is inserted once and never updated, so it has no version. It copies the holder at the time of the act, because the rows
 * of the lock and its node may be deleted later.
 */
@Entity(name = "HoldfastAudit")
@Table(name = "lock_audit")
@Access(AccessType.FIELD)
@Cacheable(false)
@ExcludeDefaultListeners
public class LockAudit {

    /** The action of a forced release. It ends a hold without the consent of its owner. */
    public static final String FORCED_RELEASE = "FORCED_RELEASE";

    /** The action that changes the limit of a semaphore. */
    public static final String LIMIT_CHANGE = "LIMIT_CHANGE";

    /** The longest reason, in UTF-16 code units. */
    public static final int MAX_REASON_LENGTH = 1000;

    @Id
    @Column(name = "id", length = 64, nullable = false)
    @Convert(disableConversion = true)
    private String id;

    @Column(name = "action", length = 32, nullable = false)
    @Convert(disableConversion = true)
    private String action;

    @Column(name = "lock_name", length = LockEntity.MAX_NAME_LENGTH, nullable = false)
    @Convert(disableConversion = true)
    private String lockName;

    @Column(name = "owner", length = LockEntity.MAX_OWNER_LENGTH)
    @Convert(disableConversion = true)
    private @Nullable String owner;

    @Column(name = "node_id", length = 64)
    @Convert(disableConversion = true)
    private @Nullable String nodeId;

    @Column(name = "holder", length = LockEntity.MAX_HOLDER_LENGTH)
    @Convert(disableConversion = true)
    private @Nullable String holder;

    @Column(name = "fencing_token", nullable = false)
    @Convert(disableConversion = true)
    private long fencingToken;

    @Column(name = "permits")
    @Convert(disableConversion = true)
    private @Nullable Integer permits;

    @Column(name = "done_at", nullable = false)
    @Convert(disableConversion = true)
    @JdbcTypeCode(SqlTypes.TIMESTAMP_UTC)
    private Instant doneAt;

    @Column(name = "done_by", length = 255, nullable = false)
    @Convert(disableConversion = true)
    private String doneBy;

    @Column(name = "reason", length = MAX_REASON_LENGTH, nullable = false)
    @Convert(disableConversion = true)
    private String reason;

    /** For the persistence provider, which sets every field before other code sees the instance. */
    @SuppressWarnings("NullAway.Init")
    protected LockAudit() {}

    /** Returns the id, which is never reused. */
    public String id() {
        return id;
    }

    /** Returns the action: {@link #FORCED_RELEASE} or {@link #LIMIT_CHANGE}. */
    public String action() {
        return action;
    }

    /** Returns the name of the lock or the semaphore. */
    public String lockName() {
        return lockName;
    }

    /** Returns the previous owner. Null if no owner held the lock, or if a limit was changed. */
    public @Nullable String owner() {
        return owner;
    }

    /** Returns the node through which the owner held it. Null for a lease, and if there is no owner. */
    public @Nullable String nodeId() {
        return nodeId;
    }

    /** Describes the previous holder for people: host, process, thread; null if unknown. */
    public @Nullable String holder() {
        return holder;
    }

    /** Returns the token of the ended grant; for a change of a limit, that of the semaphore's last grant. */
    public long fencingToken() {
        return fencingToken;
    }

    /**
     * Returns how many permits the owner had, or the new limit of the semaphore. For a lock it is 1 if the owner shared it, and null
     * otherwise.
     */
    public @Nullable Integer permits() {
        return permits;
    }

    /** Returns the time of the act, by the database's clock. */
    public Instant doneAt() {
        return doneAt;
    }

    /** Describes the caller, for people: process, host, thread. */
    public String doneBy() {
        return doneBy;
    }

    /** Returns the operator's reason. */
    public String reason() {
        return reason;
    }
}
