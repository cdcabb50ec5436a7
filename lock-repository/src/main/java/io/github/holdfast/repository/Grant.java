package io.github.holdfast.repository;

import io.github.holdfast.entity.LockEntity;
import java.util.Objects;

/**
 * Which grant of a lock: a token is given once, to one owner.
 *
 * @param name what was granted
 * @param owner to whom
 * @param fencingToken the token
 */
public record Grant(String name, String owner, long fencingToken) {

    /**
     * Returns the grant that a row shows.
     *
     * @param row with an owner
     */
    public static Grant of(LockEntity row) {
        return new Grant(
                row.name(), Objects.requireNonNull(row.owner(), "only a held lock shows a grant"), row.fencingToken());
    }
}
