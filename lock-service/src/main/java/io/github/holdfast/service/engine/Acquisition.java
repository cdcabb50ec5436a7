package io.github.holdfast.service.engine;

import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.lock.ReleaseOutcome;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** One outermost acquisition of a lock or of permits. Not thread-safe. */
interface Acquisition {

    /** The name of the lock or the semaphore. */
    String name();

    /** The owner that acquires. */
    String owner();

    /** A readable description of the holder. */
    String holder();

    /** The result of the last attempt; null if there was none. */
    @Nullable
    AttemptResult last();

    /**
     * Tries until the grant or the deadline, but at least once. {@link AcquireLoop#repeat} describes when it continues after the
     * deadline.
     *
     * @return the hold; empty if nothing was granted
     * @throws LockStoreException if the database refused, or failed until the deadline
     * @throws LockLostException if the lease was over before the database had answered
     * @throws InterruptedException if the deadline is interruptible and the thread was interrupted; nothing is held then
     */
    Optional<LeaseHold> acquire(Deadline deadline) throws InterruptedException;

    /**
     * Checks a hold that was just granted.
     *
     * @return the hold
     * @throws LockLostException if its lease is over already; it is released then
     */
    static LeaseHold stillValid(LeaseHold hold, GrantTerm term) {
        if (hold.lifetime().expireIfOver()) {
            ReleaseOutcome unused = hold.handle().release();
            throw new LockLostException(
                    hold.name(),
                    LossCause.EXPIRED,
                    "its lease of " + term.validFor() + " ended before the database answered");
        }
        return hold;
    }
}
