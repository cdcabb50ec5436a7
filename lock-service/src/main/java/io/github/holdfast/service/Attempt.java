package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.Standing;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.LockSnapshot;
import io.github.holdfast.repository.RowTransaction;
import io.github.holdfast.repository.StoreException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** How one attempt to acquire a lock came out. */
sealed interface Attempt {

    /** What it means that the database failed, if nothing is open. */
    static Attempt failed(StoreException why) {
        return why.failure().isTransient() ? new Failed(why) : new GaveUp(why);
    }

    /**
     * The lock is the claimant's.
     *
     * @param row the row as it stands now
     * @param node the node that keeps it; null if it lasts until its lease is over
     * @param validFrom the local time from which the lease counts
     * @param validFor how long the lease, or that of the node, lasts from then
     * @param reconciliations how many there had been before the attempt
     * @param isFirst whether nobody was granted the lock since its row was created
     * @param runsSince since when, by the local time, others may have waited while the lock went from one thread here to the next
     */
    record Granted(
            LockEntity row,
            @Nullable Node node,
            long validFrom,
            Duration validFor,
            long reconciliations,
            boolean isFirst,
            long runsSince)
            implements Attempt {

        Grant grant() {
            return Grant.of(row);
        }
    }

    /** Nobody holds the lock; its row is as it was when that was seen. */
    record Free(LockEntity row) implements Attempt {}

    /**
     * The lock's row is locked.
     *
     * @param row the row as it stands until the transaction ends
     * @param transaction that has it locked
     */
    record Locked(LockEntity row, RowTransaction transaction) implements Attempt {}

    /**
     * Somebody else holds the lock, or it is not available yet.
     *
     * @param tolerance for how long a lease must have been over before the lock is taken from its holder
     */
    record Refused(LockSnapshot seen, Duration tolerance) implements Attempt {

        /** Whether it is a holder's, perhaps a dead one's; if not, nobody may hold it for a while. */
        boolean isHeld() {
            return seen.standing(RowAcquisition.NOBODY, null, tolerance) != Standing.DELAYED;
        }

        /** How long the row keeps everybody out as far as it tells; null if it is held through a node. */
        @Nullable
        Duration timeUntilFree() {
            return seen.timeUntilFree(tolerance);
        }
    }

    /** Nobody holds the lock, and it is not wanted. */
    record NotWanted() implements Attempt {}

    /** The thread that had the lock was still granting it to this one, which has left the write to it. */
    record Abandoned() implements Attempt {}

    /** Another transaction has the lock's row locked. */
    record InUse() implements Attempt {}

    /** The lock cannot be had any more in the caller's transaction, for this reason. */
    record TooLate(String why) implements Attempt {}

    /** The lock has no row yet. */
    record Missing() implements Attempt {}

    /** The lock is held through a node whose lease is over, and which must be ended before the lock can be taken. */
    record Overdue(String nodeId) implements Attempt {}

    /** A dead holder has left the lock, which must be freed for the time after the delay. */
    record Deserted(LockEntity row) implements Attempt {}

    /** Somebody was faster: the lock must be looked at again. */
    record Overtaken() implements Attempt {}

    /** The database failed in a way that may pass. */
    record Failed(StoreException why) implements Attempt {}

    /** The database failed in a way that does not pass, or it will never be known what became of the write. */
    record GaveUp(StoreException why) implements Attempt {}
}
