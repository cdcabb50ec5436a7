package io.github.holdfast.service.engine;

import io.github.holdfast.entity.LockAvailability;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.HolderRows.Usage;
import io.github.holdfast.repository.LockSnapshot;
import io.github.holdfast.repository.RowTransaction;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.service.engine.PendingAcquisitions.Pending;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The result of one attempt to acquire a lock. */
sealed interface AttemptResult {

    /** Converts a database failure into a result. The failure leaves no write in doubt. */
    static AttemptResult failed(StoreException why) {
        return why.failure().isTransient() ? new TransientFailure(why) : new PermanentFailure(why);
    }

    /** What was asked for is granted to the claimant. */
    sealed interface Success extends AttemptResult {

        Grant grant();

        GrantTerm term();

        /** How many permits of a semaphore; 0 if it is a lock. */
        int permits();

        /** Whether no earlier holder can have committed what a transaction under the grant must see. */
        boolean isFirst();
    }

    /**
     * The lock was granted to the claimant.
     *
     * @param row the row as it was last written
     * @param isFirst whether this is the first grant since the row was created
     * @param runsSince the local time from which this process has kept the lock to its own threads, while others may wait
     */
    record Granted(LockEntity row, GrantTerm term, boolean isFirst, long runsSince) implements Success {

        @Override
        public Grant grant() {
            return Grant.of(row);
        }

        @Override
        public int permits() {
            return 0;
        }
    }

    /**
     * A share was granted to the claimant: permits, or a shared lock.
     *
     * @param isFirst always true for permits: other holders have some at the same time, so a holder need not see what they commit
     */
    record ShareGranted(Grant grant, GrantTerm term, int permits, boolean isFirst) implements Success {}

    /** Nothing is granted for now, because of others. */
    sealed interface Refusal extends AttemptResult {

        /** The database's clock when that was seen. */
        Instant seenAt();

        /** After how much time to attempt again, although nobody has seen a reason to. */
        Duration recheckAfter();

        /** How long nothing can be granted, according to the row; null if that is unknown. */
        @Nullable
        Duration timeUntilFree();
    }

    /**
     * Too few permits of the semaphore are left.
     *
     * @param timeUntilFree how long no lease of a holder ends; null if none is known
     */
    record PermitsUsed(Usage usage, @Nullable Duration timeUntilFree) implements Refusal {

        @Override
        public Instant seenAt() {
            return usage.dbNow();
        }

        @Override
        public Duration recheckAfter() {
            return WaitTiming.LONGEST_PAUSE;
        }
    }

    /**
     * The semaphore has fewer permits than the request wants, so a wait would be in vain.
     *
     * @param wanted how many permits the request wants
     * @param limit how many the semaphore has; at least 1
     */
    record LimitTooLow(int wanted, int limit) implements AttemptResult {}

    /**
     * Others share the lock.
     *
     * @param holders how many
     * @param timeUntilFree how long no lease of a holder ends; null if none is known
     */
    record SharedByOthers(
            LockSnapshot seen, int holders, @Nullable Duration timeUntilFree) implements Refusal {

        @Override
        public Instant seenAt() {
            return seen.dbNow();
        }

        /** {@inheritDoc} The waiter must keep new shared holders out. */
        @Override
        public Duration recheckAfter() {
            return WaitTiming.POLL_PERIOD;
        }
    }

    /** A writer waits for the shared lock, so it is not shared with more readers. */
    record ReservedByWriter(Instant seenAt) implements Refusal {

        @Override
        public @Nullable Duration timeUntilFree() {
            return null;
        }

        @Override
        public Duration recheckAfter() {
            return WaitTiming.LONGEST_PAUSE;
        }
    }

    /** The lock was shared. Its holders, if it has any, have rows of their own, which are not read yet. */
    record Shared(LockSnapshot seen) implements AttemptResult {}

    /** Nobody holds the lock, as this row shows. */
    record Free(LockEntity row) implements AttemptResult {}

    /**
     * The acquisition has locked the lock's row.
     *
     * @param row the row, which nobody else can change until the transaction ends
     * @param transaction the transaction that has locked the row
     */
    record RowLockAcquired(LockEntity row, RowTransaction transaction) implements AttemptResult {}

    /**
     * Somebody else holds the lock, it is not available yet, or other requests are before this one.
     *
     * @param tolerance the time that must pass between the end of a lease and a takeover
     * @param recheckAfter after how much time to attempt again, although nobody has seen the lock available
     */
    record Unavailable(LockSnapshot seen, Duration tolerance, Duration recheckAfter) implements Refusal {

        @Override
        public Instant seenAt() {
            return seen.dbNow();
        }

        /** Whether the lock has a holder, alive or dead. */
        boolean isHeld() {
            return seen.row().owner() != null
                    && seen.availability(Pending.NOBODY, null, tolerance) != LockAvailability.NOT_YET_AVAILABLE;
        }

        /**
         * How long the lock stays unavailable, according to its row; null if it is held through a node, or others are before
         * this request.
         */
        @Override
        public @Nullable Duration timeUntilFree() {
            Duration untilFree = seen.timeUntilFree(tolerance);
            return untilFree == null || untilFree.isZero() ? null : untilFree;
        }
    }

    /** Nobody holds the lock, but the {@link GrantStep} does not want it. */
    record NotDue() implements AttemptResult {}

    /** This thread stopped waiting while the holder was writing its grant. The holder's thread settles that write. */
    record HandOffUnanswered() implements AttemptResult {}

    /** Another transaction has locked the lock's row. */
    record RowLockedByOther() implements AttemptResult {}

    /** The caller's transaction can no longer acquire the lock, for this reason. */
    record TooLate(String why) implements AttemptResult {}

    /** The attempt failed. If nothing is repeated, this is why the acquisition fails. */
    sealed interface Failed extends AttemptResult {

        StoreException why();
    }

    /** Something stands in the way that the acquisition can clear itself. */
    sealed interface Obstacle extends AttemptResult {}

    /** The lock has no row yet. */
    record RowMissing() implements Failed, Obstacle {

        @Override
        public StoreException why() {
            return StoreException.invisible();
        }
    }

    /** The semaphore has no row yet. It is created with this limit. */
    record SemaphoreMissing(int limit) implements Failed, Obstacle {

        @Override
        public StoreException why() {
            return StoreException.invisible();
        }
    }

    /** Dead holders had shares, and have just lost their rows. */
    record DeadHoldersRemoved() implements Obstacle {}

    /** The lease of the holder's node is over. The node must be ended before another owner can take the lock. */
    record HolderNodeExpired(String nodeId) implements Obstacle {

        /** The obstacle that a row shows which refers to this node. */
        static HolderNodeExpired of(@Nullable String nodeId) {
            return new HolderNodeExpired(Objects.requireNonNull(nodeId, "what an expired node holds names the node"));
        }
    }

    /** A dead holder left the lock. Its row must be freed first: the lock becomes available after the lock delay. */
    record LeftByDeadHolder(LockEntity row) implements Obstacle {}

    /** Another write was faster: the row must be read again. */
    record LostRace() implements AttemptResult {}

    /** The database failed, but a repetition may succeed. */
    record TransientFailure(StoreException why) implements Failed {}

    /** The database failed, and a repetition cannot succeed; or the outcome of the write stays unknown. */
    record PermanentFailure(StoreException why) implements Failed {}
}
