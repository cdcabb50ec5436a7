package io.github.holdfast.semaphore;

import io.github.holdfast.entity.LockHolder;
import io.github.holdfast.repository.rows.HolderRows.HolderSnapshot;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A holder of permits of a semaphore, read from the database in one statement.
 *
 * @param name the name of the semaphore
 * @param owner the owner, generated for the acquisition
 * @param holder a readable description of the holder; null if the holder gave none
 * @param nodeId the id of the node that keeps the permits; null if they have a lease
 * @param fencingToken the token of the grant
 * @param permits how many permits; at least 1
 * @param acquiredAt the time of the grant, by the database's clock
 * @param expiresIn the time left until the lease ends, unless it is renewed. If the permits live as long as their node, this is the
 *     node's lease, which heartbeats renew. Zero if the node's lease has expired, but no service has ended the node yet
 */
public record PermitInfo(
        String name,
        String owner,
        @Nullable String holder,
        @Nullable String nodeId,
        long fencingToken,
        int permits,
        Instant acquiredAt,
        Duration expiresIn) {

    /** Returns the holder that was read; empty if it is dead, or its permits were released by force. */
    public static Optional<PermitInfo> ofHeld(HolderSnapshot seen) {
        if (!seen.isHeld()) {
            return Optional.empty();
        }
        LockHolder row = seen.holder();
        return Optional.of(new PermitInfo(
                row.name(),
                row.owner(),
                row.holder(),
                row.nodeId(),
                row.fencingToken(),
                row.permits(),
                row.acquiredAt(),
                seen.timeUntilOver()));
    }
}
