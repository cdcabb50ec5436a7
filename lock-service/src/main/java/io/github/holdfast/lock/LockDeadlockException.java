package io.github.holdfast.lock;

import io.github.holdfast.repository.StoreException;
import java.util.List;

/**
 * A deadlock of row locks. The caller's transaction and another one waited for each other, and the database chose the caller's
 * as the victim. Roll your transaction back and repeat it. To avoid deadlocks, acquire row locks in the same order everywhere,
 * or with {@link Locks#acquireAll}.
 */
public final class LockDeadlockException extends HoldfastException {

    private static final long serialVersionUID = 1L;

    private final List<String> heldNames;

    /**
     * Creates the exception for a transaction that is the victim of a deadlock.
     *
     * @param lockName the name of the row lock that the transaction did not acquire
     * @param heldNames the names of the row locks that the transaction holds, in the order of acquisition
     * @param cause the error of the database
     */
    public LockDeadlockException(String lockName, List<String> heldNames, StoreException cause) {
        super(
                lockName,
                "Row lock '" + lockName + "' was not acquired, because of a deadlock: this transaction, which holds "
                        + (heldNames.isEmpty() ? "no other row lock" : "the row locks " + heldNames)
                        + ", and another one waited for each other. Roll this one back and repeat it; acquire row locks"
                        + " in one order, or with acquireAll",
                cause);
        this.heldNames = List.copyOf(heldNames);
    }

    /** Returns the names of the row locks that the transaction held, in the order of acquisition. */
    public List<String> heldNames() {
        return heldNames;
    }
}
