package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockSnapshot;
import io.github.holdfast.repository.StoreException;
import java.time.Duration;

/** How one attempt to acquire a lock came out. */
sealed interface Attempt {

    /**
     * The lock is the claimant's.
     *
     * @param row the row as it stands now
     * @param validFrom the local time from which the lease counts
     * @param validFor how long the lease lasts from then
     */
    record Granted(LockEntity row, long validFrom, Duration validFor) implements Attempt {}

    /** Somebody else holds the lock, or it is not available yet. */
    record Refused(LockSnapshot seen) implements Attempt {}

    /** The lock has no row yet. */
    record Missing() implements Attempt {}

    /** Somebody was faster: the lock must be looked at again. */
    record Overtaken() implements Attempt {}

    /** The database failed in a way that may pass. */
    record Failed(StoreException why) implements Attempt {}

    /** The database failed in a way that does not pass, or it will never be known what became of the write. */
    record GaveUp(StoreException why) implements Attempt {}
}
