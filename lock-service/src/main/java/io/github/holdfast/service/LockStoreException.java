package io.github.holdfast.service;

import io.github.holdfast.repository.StoreException;

/** The database failed; whether the lock is held by somebody is not known. The cause is the database's error. */
public final class LockStoreException extends HoldfastException {

    private static final long serialVersionUID = 1L;

    LockStoreException(String what, StoreException cause) {
        super(null, what + ": " + cause.getMessage(), cause);
    }

    LockStoreException(String lockName, String what, StoreException cause) {
        super(lockName, "Lock '" + lockName + "' " + what + ": " + cause.getMessage(), cause);
    }
}
