package io.github.holdfast.service;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Who wants a lock that is held by its row, and for what.
 *
 * @param owner in whose name
 * @param holder who that is, for people
 * @param step what belongs to the grant
 */
record Claim(LockRequest request, String owner, String holder, GrantStep step) {

    String name() {
        return request.name();
    }

    /** Null if the lock is to be held through the node. */
    @Nullable
    Duration lease() {
        return request.lease().orElse(null);
    }

    /** The owner, if it was made for this acquisition and nobody else writes it; null if the user chose it. */
    @Nullable
    String ownOwner() {
        return request.owner().isPresent() ? null : owner;
    }
}
