package io.github.holdfast.repository.rows;

import io.github.holdfast.entity.LockAvailability;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockNode;
import java.time.Duration;
import java.time.Instant;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A lock as one statement saw it.
 *
 * @param row the lock's row
 * @param node the node that the row refers to; null if it refers to none, or if the node has no row
 * @param dbNow the database's clock in that statement
 */
public record LockSnapshot(LockEntity row, @Nullable LockNode node, Instant dbNow) {

    /**
     * Returns whether the lock is available to an owner.
     *
     * @param owner the owner that requests it
     * @param nodeId the node to hold it through; null to hold it by a lease
     * @param tolerance for how long a lease must have been over before the lock is taken from its holder
     */
    public LockAvailability availability(String owner, @Nullable String nodeId, Duration tolerance) {
        return row.availability(owner, nodeId, node, dbNow, tolerance);
    }

    /**
     * Returns whether the lock is available to an owner, where the caller judges whether the holder's node is dead.
     *
     * @param isDead whether a node that has not been ended must be ended before the lock is taken
     */
    public LockAvailability availability(
            String owner, @Nullable String nodeId, Duration tolerance, Predicate<LockNode> isDead) {
        return row.availability(owner, nodeId, node, dbNow, tolerance, isDead);
    }

    /**
     * Whether this owner still holds the lock, and so may renew or re-enter it.
     *
     * @param nodeId the node that the lock is held through; null if it is held by a lease
     */
    public boolean isHeldBy(String owner, @Nullable String nodeId) {
        // The service of the node judges its node itself, by its own clock.
        return availability(owner, nodeId, Duration.ZERO, ownNode -> false) == LockAvailability.HELD_BY_CLAIMANT;
    }

    /**
     * Returns the remaining time of the hold at {@link #dbNow}. A hold lasts until the end of its lease, or of its node's
     * lease. Zero if no owner holds the lock, or if that lease has expired.
     */
    public Duration timeUntilOver() {
        return row.owner() == null ? Duration.ZERO : RemainingTime.of(row.expiresAt(), node, dbNow);
    }

    /**
     * Returns the time until the lock can be granted, as far as the row shows. Null if the lock is held through a node.
     *
     * @param tolerance for how long a lease must have been over before the lock is taken from its holder
     */
    public @Nullable Duration timeUntilFree(Duration tolerance) {
        return row.timeUntilFree(dbNow, tolerance);
    }
}
