package io.github.holdfast.service;

import io.github.holdfast.lock.LockRequest;
import java.time.Duration;

/** What keeps a lock. */
enum Kept {
    BY_LEASE {
        @Override
        LockRequest of(LockRequest request, Duration lease) {
            return request.lease(lease);
        }
    },
    BY_NODE {
        @Override
        LockRequest of(LockRequest request, Duration lease) {
            return request;
        }
    };

    /** The request for a lock that is kept so, for this long if by a lease. */
    abstract LockRequest of(LockRequest request, Duration lease);
}
