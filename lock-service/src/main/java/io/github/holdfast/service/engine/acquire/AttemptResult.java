package io.github.holdfast.service.engine.acquire;

import io.github.holdfast.entity.LockAvailability;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockNode;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.repository.ReadableDuration;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.rows.HolderRows.Usage;
import io.github.holdfast.repository.rows.LockSnapshot;
import io.github.holdfast.repository.rows.RowTransaction;
import io.github.holdfast.service.engine.acquire.HoldContext.TakeoverPolicy;
import io.github.holdfast.service.engine.hold.PendingAcquisitions;
import io.github.holdfast.service.engine.row.LockAccess;
import io.github.holdfast.service.engine.row.NewGrant;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.wait.Waiter;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The result of one attempt to acquire a lock. */
public sealed interface AttemptResult {

    /** Converts a database failure into a result. The failure leaves no write in doubt. */
    static AttemptResult failed(StoreException why) {
        return why.failure().isTransient() ? new TransientFailure(why) : new PermanentFailure(why);
    }

    /** Whether no attempt follows, even if there is time. */
    default boolean isLast() {
        return false;
    }

    /** Whether the attempt is conclusive. Otherwise, the row must be read again. */
    default boolean isDecision() {
        return false;
    }

    /** Why the lock was not acquired, for messages. */
    default String reason() {
        return "other requests came first";
    }

    /** What was asked for is granted: a lock, or a share. */
    record Granted(NewGrant grant) implements AttemptResult {

        @Override
        public boolean isLast() {
            return true;
        }
    }

    /**
     * The acquisition has locked the lock's row.
     *
     * @param row the row, which no other transaction can change until this one ends
     * @param transaction the transaction that has locked the row
     */
    record RowLockAcquired(LockEntity row, RowTransaction transaction) implements AttemptResult {

        @Override
        public boolean isLast() {
            return true;
        }
    }

    /** Nothing is granted for now, because of others. */
    sealed interface Refusal extends AttemptResult {

        @Override
        default boolean isDecision() {
            return true;
        }

        /** The database's clock when that was seen. */
        Instant seenAt();

        /** After how much time to attempt again, although nothing has shown a reason to. */
        default Duration recheckAfter() {
            return Waiter.LONGEST_PAUSE;
        }

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
        public String reason() {
            return "%d of its %d permits are in use".formatted(usage.used(), usage.limit());
        }
    }

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
            return Waiter.POLL_PERIOD;
        }

        @Override
        public String reason() {
            return "%d holders share it".formatted(holders);
        }
    }

    /** A writer waits for the shared lock, so it is not shared with more readers. */
    record ReservedByWriter(Instant seenAt) implements Refusal {

        @Override
        public @Nullable Duration timeUntilFree() {
            return null;
        }

        @Override
        public String reason() {
            return "another owner waits for it, so no new holder shares it";
        }
    }

    /**
     * Another owner holds the lock, it is not available yet, or other requests are before this one.
     *
     * @param tolerance the time that must pass between the end of a lease and a takeover
     * @param recheckAfter after how much time to attempt again, although nothing has shown the lock available
     */
    record Unavailable(LockSnapshot seen, Duration tolerance, Duration recheckAfter) implements Refusal {

        @Override
        public Instant seenAt() {
            return seen.dbNow();
        }

        /** Whether the lock has a holder, alive or dead. */
        boolean isHeld() {
            return seen.row().owner() != null
                    && seen.availability(PendingAcquisitions.NOBODY, null, tolerance)
                            != LockAvailability.NOT_YET_AVAILABLE;
        }

        /** The holder, as the row shows it; empty if there is none. */
        Optional<LockInfo> holder() {
            return LockInfo.ofHeld(seen);
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

        @Override
        public String reason() {
            Duration untilFree = timeUntilFree();
            return untilFree == null
                    ? "fair requests came first"
                    : "it stays unavailable for another " + ReadableDuration.about(untilFree);
        }
    }

    /** Another transaction has locked the lock's row. */
    record RowLockedByOther() implements AttemptResult {

        @Override
        public boolean isDecision() {
            return true;
        }

        @Override
        public String reason() {
            return "another transaction has locked its row";
        }
    }

    /**
     * The semaphore has fewer permits than were requested, so waiting would not help.
     *
     * @param wanted how many permits are requested
     * @param limit how many the semaphore has; at least 1
     */
    record LimitTooLow(int wanted, int limit) implements AttemptResult {

        @Override
        public boolean isLast() {
            return true;
        }

        @Override
        public String reason() {
            return "the request asks for %d permits, and the semaphore has %d".formatted(wanted, limit);
        }
    }

    /** The lock is free, but the {@link GrantStep} does not accept the grant. */
    record NotDue() implements AttemptResult {

        @Override
        public boolean isLast() {
            return true;
        }
    }

    /** The caller's transaction can no longer acquire the lock, for this reason. */
    record TooLate(String reason) implements AttemptResult {

        @Override
        public boolean isLast() {
            return true;
        }
    }

    /** This thread stopped waiting while the holder was writing its grant. The holder's thread settles that write. */
    record HandOffInDoubt() implements AttemptResult {

        @Override
        public String reason() {
            return "the database has not yet answered its holder's release";
        }
    }

    /** From a read: the lock was shared. Its holders, if it has any, have rows of their own, which are not read yet. */
    record Shared(LockSnapshot seen) implements AttemptResult {}

    /** From a read: the lock has no holder, as this row shows. */
    record Free(LockEntity row) implements AttemptResult {}

    /** Another write was faster: the row must be read again. */
    record LostRace() implements AttemptResult {}

    /** The attempt failed. If nothing is repeated, this is why the acquisition fails. */
    sealed interface Failed extends AttemptResult {

        StoreException why();
    }

    /** The database failed, but a repetition may succeed. */
    record TransientFailure(StoreException why) implements Failed {

        @Override
        public boolean isDecision() {
            return !why.failure().isUndecided();
        }
    }

    /** The database failed, and a repetition cannot succeed; or the outcome of the write stays unknown. */
    record PermanentFailure(StoreException why) implements Failed {

        @Override
        public boolean isLast() {
            return true;
        }
    }

    /** Something stands in the way that the acquisition can clear itself. */
    sealed interface Obstacle extends AttemptResult {

        /**
         * Clears it. Another service may be faster: the next attempt shows that.
         *
         * @return the lock's row, if this has created it
         * @throws StoreException if the database failed
         */
        Optional<LockEntity> clear(LockAccess access, TakeoverPolicy policy, Deadline deadline);
    }

    /** The lock has no row yet. */
    record RowMissing(String name) implements Failed, Obstacle {

        @Override
        public StoreException why() {
            return StoreException.invisible();
        }

        /** {@inheritDoc} Bypasses Hibernate, which logs a warning for each error: an insert fails if another node was faster. */
        @Override
        public Optional<LockEntity> clear(LockAccess access, TakeoverPolicy policy, Deadline deadline) {
            return access.autocommit(deadline.forOneStatement()).createIfMissing(name);
        }
    }

    /** The semaphore has no row yet. It is created with this limit. */
    record SemaphoreMissing(String name, int limit) implements Failed, Obstacle {

        @Override
        public StoreException why() {
            return StoreException.invisible();
        }

        @Override
        public Optional<LockEntity> clear(LockAccess access, TakeoverPolicy policy, Deadline deadline) {
            return access.store().inTransaction(deadline.forOneStatement(), () -> {
                access.store().permits().createIfMissing(name, limit);
                return Optional.empty();
            });
        }
    }

    /** Dead holders had shares, and have just lost their rows. */
    record DeadHoldersRemoved() implements Obstacle {

        @Override
        public Optional<LockEntity> clear(LockAccess access, TakeoverPolicy policy, Deadline deadline) {
            return Optional.empty();
        }
    }

    /** The holder's node is dead. It must be ended before another owner can take the lock. */
    record HolderNodeExpired(LockNode node) implements Obstacle {

        /** The obstacle that a row shows which refers to this node. */
        public static HolderNodeExpired of(@Nullable LockNode node) {
            return new HolderNodeExpired(Objects.requireNonNull(node, "a lock of a dead node has the id of the node"));
        }

        @Override
        public Optional<LockEntity> clear(LockAccess access, TakeoverPolicy policy, Deadline deadline) {
            return access.store().inTransaction(deadline.forOneStatement(), () -> {
                boolean unused = policy.nodes().end(node);
                return Optional.empty();
            });
        }
    }

    /** A dead holder left the lock. Its row must be freed first: the lock becomes available after the lock delay. */
    record LeftByDeadHolder(LockEntity row) implements Obstacle {

        @Override
        public Optional<LockEntity> clear(LockAccess access, TakeoverPolicy policy, Deadline deadline) {
            boolean unused = access.store()
                    .inTransaction(
                            deadline.forOneStatement(),
                            locks -> locks.takeFromHolder(row, row.takenFromHolder(), policy.lockDelay()));
            return Optional.empty();
        }
    }
}
