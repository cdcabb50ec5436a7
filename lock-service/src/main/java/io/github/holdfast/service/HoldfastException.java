package io.github.holdfast.service;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The root of what Holdfast throws, apart from misuse ({@link IllegalArgumentException}, {@link IllegalStateException}). */
public abstract sealed class HoldfastException extends RuntimeException
        permits LockDeadlockException, LockNotAcquiredException, LockLostException, LockStoreException {

    private static final long serialVersionUID = 1L;

    private final @Nullable String lockName;

    HoldfastException(@Nullable String lockName, String message, Throwable cause) {
        super(message, cause);
        this.lockName = lockName;
    }

    HoldfastException(String lockName, String message) {
        super(message);
        this.lockName = lockName;
    }

    /** Returns the name of the lock; empty if it is not about one lock. */
    public Optional<String> lockName() {
        return Optional.ofNullable(lockName);
    }
}
