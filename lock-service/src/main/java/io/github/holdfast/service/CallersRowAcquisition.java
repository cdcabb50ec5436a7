package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.RowTransaction;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.service.Attempt.Free;
import io.github.holdfast.service.Attempt.GaveUp;
import io.github.holdfast.service.Attempt.InUse;
import io.github.holdfast.service.Attempt.Locked;
import io.github.holdfast.service.Attempt.Missing;
import io.github.holdfast.service.Attempt.Overtaken;
import io.github.holdfast.service.Attempt.TooLate;
import java.time.Duration;

/**
 * Locks the row in the caller's transaction. That has one chance: it cannot let a row go that it has locked, and on some
 * databases it is over when a statement of it fails.
 */
final class CallersRowAcquisition extends RowAcquisition {

    /** The drivers count in milliseconds, in 32 bits. */
    private static final Duration LONGEST_WAIT = Duration.ofDays(1);

    private final TransactionScope scope;
    private final RowTransaction transaction;

    CallersRowAcquisition(Internals internals, String name, TransactionScope scope) {
        super(internals, name);
        this.scope = scope;
        this.transaction =
                internals.store().joinRowTransaction(internals.transactions().guard());
    }

    TransactionScope scope() {
        return scope;
    }

    void setRollbackOnly() {
        transaction.setRollbackOnly();
    }

    @Override
    Attempt lock(LockEntity free, Patience patience) {
        try {
            if (takesItsSnapshotNow()) {
                Attempt outside = waitOutside(free, patience);
                return outside instanceof Locked ? lockAtOnce(free) : outside;
            }
            Duration left = patience.left();
            Attempt attempt =
                    lockIn(transaction, free, left.compareTo(LONGEST_WAIT) < 0 ? left : LONGEST_WAIT, patience);
            if (attempt instanceof Missing) {
                return new GaveUp(StoreException.overtaken());
            }
            return attempt instanceof Overtaken ? lookAgain(patience) : attempt;
        } catch (StoreException failed) {
            return failed.failure() == Failure.BUSY
                    ? new TooLate("another transaction has its row locked")
                    : new GaveUp(failed);
        }
    }

    /** Its first row lock fixes what it sees, on PostgreSQL and H2; after that there is nothing to lose. */
    private boolean takesItsSnapshotNow() {
        return scope.rowLockNames().isEmpty()
                && internals().transactions().guard().waitsWithItsSnapshot();
    }

    /** The caller's transaction would not see what the holder that it waited for has committed. */
    private Attempt waitOutside(LockEntity free, Patience patience) {
        try (RowTransaction outside = internals().store().beginRowTransaction()) {
            return lockIn(outside, free, patience.forOneStatement(), patience);
        } catch (StoreException failed) {
            return failed.failure() == Failure.BUSY ? new InUse() : Attempt.failed(failed);
        }
    }

    private Attempt lockAtOnce(LockEntity free) {
        Attempt attempt = lockIfFreeIn(transaction, free);
        return attempt instanceof Locked
                ? attempt
                : new TooLate("somebody else was faster, and this transaction would not see what that one commits");
    }

    /** The row cannot change any more, nor can it be let go. */
    private Attempt lookAgain(Patience patience) {
        Attempt again = look(patience) instanceof Free free ? lockIfFreeIn(transaction, free.row()) : new InUse();
        return again instanceof Locked
                ? again
                : new TooLate("somebody else was faster, and this transaction cannot let its row go");
    }

    @Override
    HoldfastException notLocked(StoreException why) {
        if (why.failure() == Failure.DEADLOCK && !scope.rowLockNames().isEmpty()) {
            return new LockDeadlockException(name(), scope.rowLockNames(), why);
        }
        return new LockStoreException(
                name(),
                why.failure().isConflict()
                        ? "was not acquired, because its row was written after the transaction's first read: acquire it before"
                                + " that"
                        : "was not acquired",
                why);
    }
}
