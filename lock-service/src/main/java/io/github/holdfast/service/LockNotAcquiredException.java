package io.github.holdfast.service;

import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Somebody else held the lock until the wait time was over, or it was not available yet. That is contention, not a
 * failure.
 */
public final class LockNotAcquiredException extends HoldfastException {

    private static final long serialVersionUID = 1L;

    private final Duration waited;
    private final @Nullable String holder;
    private final @Nullable Duration expiresIn;

    /** Somebody held it. */
    LockNotAcquiredException(Duration waited, LockInfo held) {
        super(
                held.name(),
                "Lock '%s' was not acquired within %s: held by %s%s"
                        .formatted(
                                held.name(),
                                waited,
                                held.holder() == null ? "another owner" : held.holder(),
                                ", whose lease ends in " + held.expiresIn() + " unless it is renewed"));
        this.waited = waited;
        this.holder = held.holder();
        this.expiresIn = held.expiresIn();
    }

    /** Nobody held it at the last look, but it could not be had. */
    LockNotAcquiredException(String lockName, Duration waited, String why) {
        super(lockName, "Lock '%s' was not acquired within %s: %s".formatted(lockName, waited, why));
        this.waited = waited;
        this.holder = null;
        this.expiresIn = null;
    }

    /** Returns how long the lock was waited for. */
    public Duration waited() {
        return waited;
    }

    /** Returns who held it at the last look, for people: process, host and thread; empty if nobody did. */
    public Optional<String> holder() {
        return Optional.ofNullable(holder);
    }

    /**
     * Returns how long the holder's lease, or that of its node, had still to go at the last look; empty if nobody held it.
     */
    public Optional<Duration> expiresIn() {
        return Optional.ofNullable(expiresIn);
    }
}
