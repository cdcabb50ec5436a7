package io.github.holdfast.service.engine;

import io.github.holdfast.lock.LockRequest;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The claim of an acquisition to a lock with a lease or through a node.
 *
 * @param owner the owner that acquires the lock
 * @param holder a readable description of the holder
 * @param step the additional step in the transaction of the grant
 * @param place the place of the acquisition among the waiters of all nodes
 */
record LeaseClaim(LockRequest request, String owner, String holder, GrantStep step, WaiterTickets.Place place) {

    String name() {
        return request.name();
    }

    /** The requested lease; null if the lock is to be held through the node. */
    @Nullable
    Duration lease() {
        return request.lease().orElse(null);
    }

    /** The owner, if it was generated for this acquisition, so that nobody else uses it; null if the user chose it. */
    @Nullable
    String ownOwner() {
        return request.owner().isPresent() ? null : owner;
    }
}
