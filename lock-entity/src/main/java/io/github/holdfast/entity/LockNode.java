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
import java.time.Instant;
import java.util.Objects;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.type.SqlTypes;
import org.jspecify.annotations.Nullable;

/**
 * One running lock service. The locks held through it live as long as its lease, which its heartbeat extends.
 *
 * <p>An id is never reused, and {@code ended} is final once it is true: a node that was ended cannot come back to life.
 * Instances do not change once they are loaded.
 */
@Entity(name = "HoldfastNode")
@Table(name = "lock_node")
@Access(AccessType.FIELD)
@Cacheable(false)
@ExcludeDefaultListeners
public class LockNode {

    @Id
    @Column(name = "id", length = 64, nullable = false)
    private String id;

    @Column(name = "started_at", nullable = false)
    @JdbcTypeCode(SqlTypes.TIMESTAMP_UTC)
    private Instant startedAt;

    @Column(name = "expires_at", nullable = false)
    @JdbcTypeCode(SqlTypes.TIMESTAMP_UTC)
    private Instant expiresAt;

    @Column(name = "ended", nullable = false)
    private boolean ended;

    @Column(name = "description", length = 255)
    private @Nullable String description;

    @Version
    @Column(name = "version", nullable = false)
    private long version;

    @Column(name = "waits_until")
    @JdbcTypeCode(SqlTypes.TIMESTAMP_UTC)
    private @Nullable Instant waitsUntil;

    /** For the persistence provider, which sets every field before anybody sees the instance. */
    @SuppressWarnings("NullAway.Init")
    protected LockNode() {}

    /**
     * A node as it stands in the database.
     *
     * @param id never reused, at most 64 characters
     * @param startedAt when it registered, by the database's clock
     * @param expiresAt when its lease ends, by the database's clock
     * @param ended whether it was ended
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

    /** Returns whether the node was ended; it never changes back. */
    public boolean isEnded() {
        return ended;
    }

    /** Returns application, host and process for people, or null. */
    public @Nullable String description() {
        return description;
    }

    /** Returns the version, which grows with every write but the one that only says that the node waits. */
    public long version() {
        return version;
    }

    /**
     * Returns whether the node's own service ended it when that was closed, and not another one because its lease was over. That
     * is for people: either way the locks held through it are free. It is told by {@link #waitsUntil()}, which means nothing else
     * once the node was ended, and is never when the node started while it lives.
     */
    public boolean isStopped() {
        return ended && startedAt.equals(waitsUntil);
    }

    /**
     * Returns until when the node is to be told of locks that are given back, because threads of it wait for one, by the
     * database's clock; null if it never was. Nothing but that depends on it, and {@link #isStopped()} once the node was ended.
     */
    public @Nullable Instant waitsUntil() {
        return waitsUntil;
    }

    /**
     * Whether the node's lease is over although nobody has ended it yet.
     *
     * @param dbNow the database's clock, read in the same statement as this node
     */
    boolean isOverdue(Instant dbNow) {
        return !ended && !expiresAt.isAfter(dbNow);
    }
}
