package io.github.holdfast.service.engine.rowlock;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.HoldfastException;
import io.github.holdfast.lock.LockDeadlockException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.repository.rows.RowTransaction;
import io.github.holdfast.repository.store.CommitGuard;
import io.github.holdfast.service.engine.acquire.AcquireResult;
import io.github.holdfast.service.engine.acquire.AttemptResult;
import io.github.holdfast.service.engine.acquire.AttemptResult.Free;
import io.github.holdfast.service.engine.acquire.AttemptResult.LostRace;
import io.github.holdfast.service.engine.acquire.AttemptResult.PermanentFailure;
import io.github.holdfast.service.engine.acquire.AttemptResult.RowLockAcquired;
import io.github.holdfast.service.engine.acquire.AttemptResult.RowLockedByOther;
import io.github.holdfast.service.engine.acquire.AttemptResult.RowMissing;
import io.github.holdfast.service.engine.acquire.AttemptResult.TooLate;
import io.github.holdfast.service.engine.acquire.HoldContext;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.tx.TransactionScope;
import java.time.Duration;
import java.util.Optional;

/**
 * Acquires a row lock in the caller's transaction. There is only one attempt: the transaction cannot unlock a row, and some
 * databases end it after a failed statement.
 */
public final class CallersRowAcquisition extends RowAcquisition {

    /** A limit for the drivers, which count milliseconds in 32 bits. */
    private static final Duration LONGEST_WAIT = Duration.ofDays(1);

    private final CommitGuard guard;
    private final TransactionScope scope;
    private final RowTransaction transaction;

    public CallersRowAcquisition(
            HoldContext context, RowTransactions rowTransactions, LockRequest request, TransactionScope scope) {
        super(context, rowTransactions, request);
        this.guard = context.transactions().guard();
        this.scope = scope;
        this.transaction = store().joinRowTransaction(guard);
    }

    @Override
    TransactionScope callers() {
        return scope;
    }

    /** {@inheritDoc} Not in the queue: the caller keeps its connection anyway, and the database could not see deadlocks through the queue. */
    @Override
    public boolean isQueued() {
        return false;
    }

    /**
     * {@inheritDoc} Some databases end a transaction after a failed statement or a failed wait. All databases should behave alike, so the
     * transaction is then marked for rollback on each of them.
     */
    @Override
    public Optional<RowHold> acquire(Deadline deadline) throws InterruptedException {
        boolean mayBeRefused = deadline.isOver();
        boolean isUsable = false;
        try {
            Optional<RowHold> hold = super.acquire(deadline);
            if (last() instanceof TooLate) {
                // The exception bypasses the code that reports other refusals.
                context().listeners().acquired(name(), Optional.empty(), deadline.elapsed());
                throw new AcquireResult(name(), Optional.empty(), last(), deadline.elapsed()).refusal();
            }
            isUsable = hold.isPresent() || mayBeRefused;
            return hold;
        } finally {
            if (!isUsable) {
                transaction.setRollbackOnly();
            }
        }
    }

    @Override
    AttemptResult lock(LockEntity free, Deadline deadline) {
        try {
            if (takesItsSnapshotNow()) {
                AttemptResult outside = waitOutside(free, deadline);
                return outside instanceof RowLockAcquired ? lockAtOnce(free) : outside;
            }
            Duration left = deadline.left();
            AttemptResult attempt =
                    lockIn(transaction, free, left.compareTo(LONGEST_WAIT) < 0 ? left : LONGEST_WAIT, deadline);
            if (attempt instanceof RowMissing) {
                return new PermanentFailure(StoreException.overtaken());
            }
            return attempt instanceof LostRace ? lockAfterReread(deadline) : attempt;
        } catch (StoreException failed) {
            return failed.failure() == Failure.BUSY
                    ? new TooLate("another transaction has locked its row")
                    : new PermanentFailure(failed);
        }
    }

    /**
     * Whether this row lock takes the transaction's snapshot. On PostgreSQL and H2, the first row lock does. Later ones find the
     * snapshot already taken.
     */
    private boolean takesItsSnapshotNow() {
        return scope.rowLockNames().isEmpty() && guard.waitsWithItsSnapshot();
    }

    /**
     * Waits in another transaction. The caller's transaction would take its snapshot before the wait, and miss what the previous
     * holder commits.
     */
    private AttemptResult waitOutside(LockEntity free, Deadline deadline) {
        try (RowTransaction outside = store().beginRowTransaction()) {
            return lockIn(outside, free, deadline.forOneStatement(), deadline);
        } catch (StoreException failed) {
            return failed.failure() == Failure.BUSY ? new RowLockedByOther() : AttemptResult.failed(failed);
        }
    }

    private AttemptResult lockAtOnce(LockEntity free) {
        AttemptResult attempt = lockIfFreeIn(transaction, free);
        return attempt instanceof RowLockAcquired
                ? attempt
                : new TooLate("another owner was faster, and this transaction would not see what that owner commits");
    }

    /** Reads the lock again after its row was locked. The row cannot change any more, and the transaction cannot unlock it. */
    private AttemptResult lockAfterReread(Deadline deadline) {
        AttemptResult again =
                read(deadline) instanceof Free free ? lockIfFreeIn(transaction, free.row()) : new RowLockedByOther();
        return again instanceof RowLockAcquired
                ? again
                : new TooLate("another owner was faster, and this transaction cannot unlock the row");
    }

    /** {@inheritDoc} On H2, the error of a deadlock also means a row that is newer than the snapshot. */
    @Override
    HoldfastException notLocked(StoreException why) {
        if (why.failure() == Failure.DEADLOCK && !takesItsSnapshotNow()) {
            return new LockDeadlockException(name(), scope.rowLockNames(), why);
        }
        return new LockStoreException(
                name(),
                why.failure().isConflict()
                        ? "was not acquired, because its row was written after the transaction's first read: acquire"
                                + " the lock before that read"
                        : "was not acquired",
                why);
    }
}
