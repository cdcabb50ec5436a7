package io.github.holdfast.service;

import io.github.holdfast.repository.StoreException;
import java.util.List;

/**
 * The caller's transaction, which holds row locks, and another one waited for each other, and the database chose this one to
 * give up. Roll it back and repeat it; to avoid it, acquire row locks in one order, or with {@link LockService#acquireAll}.
 */
public final class LockDeadlockException extends HoldfastException {

    private static final long serialVersionUID = 1L;

    private final List<String> heldNames;

    LockDeadlockException(String lockName, List<String> heldNames, StoreException cause) {
        super(
                lockName,
                "Row lock '" + lockName + "' was not acquired: the transaction, which holds "
                        + (heldNames.isEmpty() ? "no other row lock" : "the row locks " + heldNames)
                        + ", and another one waited for each other. Roll back and repeat; acquire row locks in one order, or with"
                        + " acquireAll",
                cause);
        this.heldNames = List.copyOf(heldNames);
    }

    /** Returns which row locks the transaction held, in the order in which they were acquired. */
    public List<String> heldNames() {
        return heldNames;
    }
}
