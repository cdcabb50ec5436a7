package io.github.holdfast.shedlock;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import java.time.Duration;
import net.javacrumbs.shedlock.core.LockConfiguration;

/** What keeps a lock until its unlock. */
enum KeepAlive {
    BY_LEASE {
        @Override
        LockRequest request(LockRequest base, Durations durations, LockConfiguration configuration) {
            return base.lease(durations.atMost(configuration));
        }

        @Override
        void extend(LockHandle lock, Durations durations, LockConfiguration extension) {
            lock.renew(durations.atMost(extension));
        }
    },

    BY_NODE {
        @Override
        LockRequest request(LockRequest base, Durations durations, LockConfiguration configuration) {
            return base;
        }

        /** The heartbeat does it. */
        @Override
        void extend(LockHandle lock, Durations durations, LockConfiguration extension) {
            lock.ensureValidFor(Duration.ZERO);
        }
    };

    /** Adds to the request how long the lock is held at most. */
    abstract LockRequest request(LockRequest base, Durations durations, LockConfiguration configuration);

    /**
     * Makes sure that the lock is held for as long as the extension says.
     *
     * @throws io.github.holdfast.lock.LockLostException if the lock is lost
     * @throws io.github.holdfast.lock.LockStoreException if the database failed
     */
    abstract void extend(LockHandle lock, Durations durations, LockConfiguration extension);
}
