package io.github.holdfast.service.engine;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.HoldfastException;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.repository.RowTransaction;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.service.engine.AttemptResult.LostRace;
import io.github.holdfast.service.engine.AttemptResult.RowLockAcquired;
import io.github.holdfast.service.engine.AttemptResult.RowLockedByOther;

/** Acquires a row lock in a transaction of its own. The transaction ends before each pause. */
final class OwnRowAcquisition extends RowAcquisition {

    private final RowLocks rowLocks;

    OwnRowAcquisition(HoldContext context, RowLocks rowLocks, String name) {
        super(context, name);
        this.rowLocks = rowLocks;
    }

    @Override
    AttemptResult lock(LockEntity free, Deadline deadline) {
        RowTransaction own;
        try {
            own = rowLocks.begin(name());
        } catch (StoreException failed) {
            return AttemptResult.failed(failed);
        }
        AttemptResult attempt = new LostRace();
        try {
            attempt = lockIn(own, free, deadline.forOneStatement(), deadline);
        } catch (StoreException failed) {
            attempt = failed.failure() == Failure.BUSY ? new RowLockedByOther() : AttemptResult.failed(failed);
        } finally {
            if (!(attempt instanceof RowLockAcquired)) {
                rowLocks.end(own);
            }
        }
        return attempt;
    }

    @Override
    HoldfastException notLocked(StoreException why) {
        return new LockStoreException(name(), "was not acquired, and no other holder was seen", why);
    }
}
