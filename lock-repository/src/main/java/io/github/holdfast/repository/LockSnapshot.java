package io.github.holdfast.repository;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockNode;
import io.github.holdfast.entity.Standing;
import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A lock as one statement saw it.
 *
 * @param row the lock's row
 * @param node the node that the row names; null if it names none or that node's row does not exist
 * @param dbNow the database's clock in that statement
 */
public record LockSnapshot(LockEntity row, @Nullable LockNode node, Instant dbNow) {

    /**
     * What the lock says to one who wants to hold it.
     *
     * @param owner the owner who asks
     * @param nodeId the node to hold it through; null to hold it by a lease
     * @param tolerance for how long a lease must have been over before the lock is taken from its holder
     */
    public Standing standing(String owner, @Nullable String nodeId, Duration tolerance) {
        return row.standing(owner, nodeId, node, dbNow, tolerance);
    }

    /**
     * Whether the lock is this owner's still: he may renew it, or enter it again.
     *
     * @param nodeId the node that he holds it through; null if by a lease
     */
    public boolean isHeldBy(String owner, @Nullable String nodeId) {
        return standing(owner, nodeId, Duration.ZERO) == Standing.MINE;
    }

    /**
     * How long the hold that the row shows lasts from {@link #dbNow}, unless it is renewed: until the end of its lease, or of
     * its node's. Zero if nobody holds it or that is over.
     */
    public Duration timeUntilOver() {
        Instant end = row.nodeId() == null ? row.expiresAt() : node == null ? null : node.expiresAt();
        return row.owner() == null || end == null || !end.isAfter(dbNow) ? Duration.ZERO : Duration.between(dbNow, end);
    }

    /**
     * Returns how long the row keeps everybody out as far as it tells, or null if it is held through a node.
     *
     * @param tolerance for how long a lease must have been over before the lock is taken from its holder
     */
    public @Nullable Duration timeUntilFree(Duration tolerance) {
        return row.timeUntilFree(dbNow, tolerance);
    }
}
