package io.github.holdfast.service;

/** The lock was held, but is no longer: its lease or its node's ended, or its row went to somebody else. */
public final class LockLostException extends HoldfastException {

    private static final long serialVersionUID = 1L;

    private final LossCause lossCause;

    LockLostException(String lockName, LossCause lossCause, String why) {
        super(lockName, "Lock '" + lockName + "' was lost: " + why);
        this.lossCause = lossCause;
    }

    /** Returns why it was lost. */
    public LossCause lossCause() {
        return lossCause;
    }
}
