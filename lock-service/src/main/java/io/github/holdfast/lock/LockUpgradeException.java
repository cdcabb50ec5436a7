package io.github.holdfast.lock;

/**
 * A thread that shares a lock has requested it exclusively. Release the shared lock first, or acquire it exclusively from the
 * beginning. The request does not wait, because two such threads would wait for each other forever.
 */
public final class LockUpgradeException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param lockName the name of the lock
     */
    public LockUpgradeException(String lockName) {
        super("This thread shares lock '" + lockName
                + "', so it cannot acquire it exclusively: two threads that do this would wait for each other."
                + " Release the shared lock first, or acquire it exclusively from the beginning");
    }
}
