package io.github.holdfast.lock;

import io.github.holdfast.entity.LockAvailability;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockHolder;
import io.github.holdfast.repository.rows.HolderRows.HolderSnapshot;
import io.github.holdfast.repository.rows.LockSnapshot;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A holder of a lock, read from the database in one statement. A shared lock can have several, each with its own owner, token, and node
 * or lease.
 *
 * @param name the name of the lock
 * @param mode how the holder holds the lock
 * @param owner the owner
 * @param holder a readable description of the holder; null if the holder gave none
 * @param nodeId the id of the node that keeps the lock; null if the lock has a lease
 * @param fencingToken the token of the grant
 * @param holdCount the number of the owner's nested acquisitions; 1 for a shared holder, because only its process counts them
 * @param acquiredAt the time of the grant, by the database's clock
 * @param expiresIn the time left until the lease ends, unless it is renewed. If the lock lives as long as its node, this is the
 *     node's lease, which heartbeats renew. Zero if the node's lease has expired, but no service has ended the node yet
 */
public record LockInfo(
        String name,
        LockMode mode,
        String owner,
        @Nullable String holder,
        @Nullable String nodeId,
        long fencingToken,
        int holdCount,
        Instant acquiredAt,
        Duration expiresIn) {

    /** Returns the exclusive holder of the lock that was read; empty if the lock is not held, or shared. */
    public static Optional<LockInfo> ofHeld(LockSnapshot seen) {
        LockEntity row = seen.row();
        String owner = row.owner();
        Instant acquiredAt = row.acquiredAt();
        if (row.isShared()
                || owner == null
                || acquiredAt == null
                || !isHeld(seen.availability(owner, row.nodeId(), Duration.ZERO))) {
            return Optional.empty();
        }
        return Optional.of(new LockInfo(
                row.name(),
                LockMode.EXCLUSIVE,
                owner,
                row.holder(),
                row.nodeId(),
                row.fencingToken(),
                row.holdCount(),
                acquiredAt,
                seen.timeUntilOver()));
    }

    /** Returns a shared holder of a lock that was read; empty if it is dead, or its share was released by force. */
    public static Optional<LockInfo> ofSharing(HolderSnapshot seen) {
        if (!seen.isHeld()) {
            return Optional.empty();
        }
        LockHolder row = seen.holder();
        return Optional.of(new LockInfo(
                row.name(),
                LockMode.SHARED,
                row.owner(),
                row.holder(),
                row.nodeId(),
                row.fencingToken(),
                1,
                row.acquiredAt(),
                seen.timeUntilOver()));
    }

    private static boolean isHeld(LockAvailability availability) {
        return availability == LockAvailability.HELD_BY_CLAIMANT
                || availability == LockAvailability.HELD_BY_OTHER
                || availability == LockAvailability.HOLDER_NODE_EXPIRED;
    }
}
