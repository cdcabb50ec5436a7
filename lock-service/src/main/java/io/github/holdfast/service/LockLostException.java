package io.github.holdfast.service;

/** The lock was held, but is no longer: its lease ended, or its row went to somebody else. */
public final class LockLostException extends HoldfastException {

    private static final long serialVersionUID = 1L;

    LockLostException(String lockName, String why) {
        super(lockName, "Lock '" + lockName + "' was lost: " + why);
    }
}
