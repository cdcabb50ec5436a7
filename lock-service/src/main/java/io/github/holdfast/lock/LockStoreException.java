package io.github.holdfast.lock;

import io.github.holdfast.repository.StoreException;

/** A database operation failed. It is unknown whether the lock is held. The cause is the database's error. */
public final class LockStoreException extends HoldfastException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates the exception for an operation that is not about one particular lock.
     *
     * @param what the beginning of the message, which names what failed
     * @param cause the error of the database
     */
    public LockStoreException(String what, StoreException cause) {
        super(null, what + ": " + cause.getMessage(), cause);
    }

    /**
     * Creates the exception for an operation on a lock.
     *
     * @param lockName the name of the lock
     * @param what the message after the lock's name, which says what failed
     * @param cause the error of the database
     */
    public LockStoreException(String lockName, String what, StoreException cause) {
        super(lockName, "Lock '" + lockName + "' " + what + ": " + cause.getMessage(), cause);
    }
}
