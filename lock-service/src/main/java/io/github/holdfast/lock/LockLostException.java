package io.github.holdfast.lock;

/**
 * A lock was held, but is lost. Its lease or its node's lease ended, or its row went to another owner. {@link LossCause} lists
 * all causes.
 */
public final class LockLostException extends HoldfastException {

    private static final long serialVersionUID = 1L;

    private final LossCause lossCause;

    /**
     * Creates the exception for a lock.
     *
     * @param lockName the name of the lock
     * @param lossCause the cause of the loss
     * @param why the cause in words, for the message
     */
    public LockLostException(String lockName, LossCause lossCause, String why) {
        super(lockName, "Lock '" + lockName + "' was lost: " + why);
        this.lossCause = lossCause;
    }

    /** Returns the cause of the loss. */
    public LossCause lossCause() {
        return lossCause;
    }
}
