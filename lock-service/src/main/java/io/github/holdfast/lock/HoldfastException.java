package io.github.holdfast.lock;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The base class of Holdfast's exceptions. Misuse throws {@link IllegalArgumentException} or {@link IllegalStateException}
 * instead.
 */
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

    /** Returns the name of the lock; empty if the exception is not about one particular lock. */
    public Optional<String> lockName() {
        return Optional.ofNullable(lockName);
    }
}
