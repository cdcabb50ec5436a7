package io.github.holdfast.service;

import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Somebody else held the lock until the wait time was over. That is contention, not a failure. */
public final class LockNotAcquiredException extends HoldfastException {

    private static final long serialVersionUID = 1L;

    private final Duration waited;
    private final @Nullable String holder;
    private final @Nullable Duration expiresIn;

    LockNotAcquiredException(String lockName, Duration waited, @Nullable String holder, @Nullable Duration expiresIn) {
        super(
                lockName,
                "Lock '%s' was not acquired within %s: held by %s%s"
                        .formatted(
                                lockName,
                                waited,
                                holder == null ? "another owner" : holder,
                                expiresIn == null
                                        ? ""
                                        : ", whose lease ends in " + expiresIn + " unless it is renewed"));
        this.waited = waited;
        this.holder = holder;
        this.expiresIn = expiresIn;
    }

    /** Returns how long the lock was waited for. */
    public Duration waited() {
        return waited;
    }

    /** Returns who held it at the last look, for people: host, process and thread. */
    public Optional<String> holder() {
        return Optional.ofNullable(holder);
    }

    /** Returns how long the holder's lease had still to go at the last look; empty if the lock has no lease. */
    public Optional<Duration> expiresIn() {
        return Optional.ofNullable(expiresIn);
    }
}
