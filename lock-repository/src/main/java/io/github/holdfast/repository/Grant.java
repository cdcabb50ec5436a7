package io.github.holdfast.repository;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockHolder;
import java.util.Objects;

/**
 * One grant. No two grants of a name have the same token.
 *
 * @param kind what was granted
 * @param name the name of the lock or the semaphore
 * @param owner the owner that received the grant
 * @param fencingToken the token
 */
public record Grant(Kind kind, String name, String owner, long fencingToken) {

    /** What was granted, and so which table shows it. */
    public enum Kind {
        /** An exclusive lock. Its own row shows the grant. */
        LOCK,

        /** A share: permits of a semaphore, or a shared lock. A row of the holder shows the grant. */
        SHARE
    }

    /**
     * Returns the grant that a row shows.
     *
     * @param row a row with an owner
     */
    public static Grant of(LockEntity row) {
        return new Grant(
                Kind.LOCK,
                row.name(),
                Objects.requireNonNull(row.owner(), "a free lock has no grant"),
                row.fencingToken());
    }

    /** Returns the grant that the row of a holder shows. */
    public static Grant of(LockHolder row) {
        return new Grant(Kind.SHARE, row.name(), row.owner(), row.fencingToken());
    }
}
