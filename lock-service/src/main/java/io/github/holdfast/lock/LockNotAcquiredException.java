package io.github.holdfast.lock;

import io.github.holdfast.repository.ReadableDuration;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A lock was not acquired within the wait time. Another owner held it, or it was not available yet. This is contention, not a
 * failure.
 */
public final class LockNotAcquiredException extends HoldfastException {

    private static final long serialVersionUID = 1L;

    private final Duration waited;
    private final @Nullable String holder;
    private final @Nullable Duration expiresIn;

    /**
     * Creates the exception for a lock that another owner held at the last poll.
     *
     * @param waited how long the acquisition waited
     * @param held the holder
     */
    public LockNotAcquiredException(Duration waited, LockInfo held) {
        super(
                held.name(),
                "Lock '%s' was not acquired within %s: held by %s%s"
                        .formatted(
                                held.name(),
                                ReadableDuration.about(waited),
                                held.holder() == null ? "another owner" : held.holder(),
                                ", whose lease ends in " + ReadableDuration.about(held.expiresIn())
                                        + " unless it is renewed"));
        this.waited = waited;
        this.holder = held.holder();
        this.expiresIn = held.expiresIn();
    }

    /**
     * Creates the exception for a lock that no owner held at the last poll, but that was not available.
     *
     * @param lockName the name of the lock
     * @param waited how long the acquisition waited
     * @param why the reason why the lock was not available, for the message
     */
    public LockNotAcquiredException(String lockName, Duration waited, String why) {
        super(
                lockName,
                "Lock '%s' was not acquired within %s: %s".formatted(lockName, ReadableDuration.about(waited), why));
        this.waited = waited;
        this.holder = null;
        this.expiresIn = null;
    }

    /** Returns how long the acquisition waited. */
    public Duration waited() {
        return waited;
    }

    /**
     * Returns a readable description of the holder at the last poll: application, process, host and thread; empty if the lock
     * was not held.
     */
    public Optional<String> holder() {
        return Optional.ofNullable(holder);
    }

    /**
     * Returns the time that the holder's lease, or its node's lease, had left at the last poll; empty if the lock was not held.
     */
    public Optional<Duration> expiresIn() {
        return Optional.ofNullable(expiresIn);
    }
}
