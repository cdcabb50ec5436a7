package io.github.holdfast.repository.rows;

import io.github.holdfast.entity.LockNode;
import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** How long a grant lasts, according to the row that shows it. */
final class RemainingTime {

    private RemainingTime() {}

    /**
     * Returns the time until the end of the grant's lease, or of its node's lease. Zero if that lease has expired.
     *
     * @param expiresAt the end of its lease; null if it has none
     * @param node the row of the node through which it is held; null if there is none, or if it has a lease
     * @param dbNow the database's clock in the same statement
     */
    static Duration of(@Nullable Instant expiresAt, @Nullable LockNode node, Instant dbNow) {
        Instant end = node == null ? expiresAt : node.expiresAt();
        return end == null || !end.isAfter(dbNow) ? Duration.ZERO : Duration.between(dbNow, end);
    }
}
