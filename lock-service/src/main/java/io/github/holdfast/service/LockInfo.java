package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.Standing;
import io.github.holdfast.repository.LockSnapshot;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Who holds a lock, as the database saw it in one statement.
 *
 * @param name what is locked
 * @param owner the owner
 * @param holder who that is, for people; null if the holder did not say
 * @param nodeId the node that keeps it; null if it is held by a lease
 * @param fencingToken the token of the grant
 * @param holdCount how many nested acquisitions the owner has
 * @param acquiredAt when it was granted, by the database's clock
 * @param expiresIn how long the lease has still to go, unless it is renewed; of a lock that lives as long as its node, how long
 *     the node's lease has, which its heartbeat renews: zero if it is over and nobody has noticed yet
 */
public record LockInfo(
        String name,
        String owner,
        @Nullable String holder,
        @Nullable String nodeId,
        long fencingToken,
        int holdCount,
        Instant acquiredAt,
        Duration expiresIn) {

    /** Who holds the lock that was seen; empty if nobody does. */
    static Optional<LockInfo> ofHeld(LockSnapshot seen) {
        LockEntity row = seen.row();
        String owner = row.owner();
        Instant acquiredAt = row.acquiredAt();
        if (owner == null || acquiredAt == null || !isHeld(seen.standing(owner, row.nodeId(), Duration.ZERO))) {
            return Optional.empty();
        }
        return Optional.of(new LockInfo(
                row.name(),
                owner,
                row.holder(),
                row.nodeId(),
                row.fencingToken(),
                row.holdCount(),
                acquiredAt,
                seen.timeUntilOver()));
    }

    private static boolean isHeld(Standing standing) {
        return standing == Standing.MINE || standing == Standing.HELD || standing == Standing.NODE_OVERDUE;
    }
}
