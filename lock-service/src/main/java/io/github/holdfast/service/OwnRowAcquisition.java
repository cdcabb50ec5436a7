package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.RowTransaction;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.service.Attempt.InUse;
import io.github.holdfast.service.Attempt.Locked;
import io.github.holdfast.service.Attempt.Overtaken;

/** Locks the row in a transaction of its own, which is ended before each pause. */
final class OwnRowAcquisition extends RowAcquisition {

    OwnRowAcquisition(Internals internals, String name) {
        super(internals, name);
    }

    @Override
    Attempt lock(LockEntity free, Patience patience) {
        RowTransaction own;
        try {
            own = internals().rowLocks().begin(name());
        } catch (StoreException failed) {
            return Attempt.failed(failed);
        }
        Attempt attempt = new Overtaken();
        try {
            attempt = lockIn(own, free, patience.forOneStatement(), patience);
        } catch (StoreException failed) {
            attempt = failed.failure() == Failure.BUSY ? new InUse() : Attempt.failed(failed);
        } finally {
            if (!(attempt instanceof Locked)) {
                internals().rowLocks().end(own);
            }
        }
        return attempt;
    }

    @Override
    HoldfastException notLocked(StoreException why) {
        return new LockStoreException(name(), "was not acquired, nor seen held by somebody else", why);
    }
}
