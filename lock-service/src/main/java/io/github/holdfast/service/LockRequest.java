package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Which lock is wanted, and how. Immutable: each method returns a request that differs in one thing.
 *
 * <pre>{@code
 * LockRequest.of("order:1001").lease(Duration.ofSeconds(30)).waitAtMost(Duration.ofSeconds(5))
 * }</pre>
 */
public final class LockRequest {

    /** How long {@link LockService#acquire} waits if the request does not say: 10 seconds. */
    public static final Duration DEFAULT_WAIT = Duration.ofSeconds(10);

    /** The shortest lease: 1 millisecond. */
    public static final Duration SHORTEST_LEASE = Duration.ofMillis(1);

    /** The longest lease and the longest wait time: 365 days. */
    public static final Duration LONGEST_DURATION = Duration.ofDays(365);

    private final String name;
    private final @Nullable Duration lease;
    private final @Nullable Duration waitTime;
    private final @Nullable String owner;
    private final @Nullable Duration minimumHold;
    private final Reentrancy reentrancy;

    /** Whether a request may join a hold that its owner has already. */
    private enum Reentrancy {
        ALLOWED,
        REFUSED
    }

    private LockRequest(
            String name,
            @Nullable Duration lease,
            @Nullable Duration waitTime,
            @Nullable String owner,
            @Nullable Duration minimumHold,
            Reentrancy reentrancy) {
        this.name = name;
        this.lease = lease;
        this.waitTime = waitTime;
        this.owner = owner;
        this.minimumHold = minimumHold;
        this.reentrancy = reentrancy;
    }

    /**
     * A request for a lock, with the default wait time, an owner of its own, and re-entry by thread.
     *
     * @param name what to lock: 1 to 255 characters (UTF-16 code units), no control characters, no white space at either
     *     end. Names are compared byte by byte: case, accents and Unicode forms make a difference
     * @throws IllegalArgumentException if the name is anything else
     */
    public static LockRequest of(String name) {
        return new LockRequest(
                Names.checked("name", name, LockEntity.MAX_NAME_LENGTH), null, null, null, null, Reentrancy.ALLOWED);
    }

    /**
     * Holds the lock for this long, by the database's clock from the moment it is granted, unless it is renewed or
     * released. When the lease is over anybody may take the lock: choose it longer than the work takes.
     *
     * @param lease {@link #SHORTEST_LEASE} to {@link #LONGEST_DURATION}
     * @throws IllegalArgumentException if it is out of that range
     */
    public LockRequest lease(Duration lease) {
        return new LockRequest(name, checkedLease(lease), waitTime, owner, minimumHold, reentrancy);
    }

    /**
     * Waits at most this long for the lock.
     *
     * @param waitTime zero (one decision) to {@link #LONGEST_DURATION}
     * @throws IllegalArgumentException if it is negative or longer
     */
    public LockRequest waitAtMost(Duration waitTime) {
        return new LockRequest(name, lease, checkedDuration("wait time", waitTime), owner, minimumHold, reentrancy);
    }

    /** Waits for the lock without a limit (in truth, for {@link #LONGEST_DURATION}). */
    public LockRequest waitForever() {
        return waitAtMost(LONGEST_DURATION);
    }

    /**
     * Acquires in the name of this owner, instead of one that is made for the acquisition. Whoever gives the same owner
     * re-enters the hold, from any thread and any process; <strong>holders with the same owner do not exclude each
     * other</strong>. Because processes share it, an answer that the database did not give cannot be told from another
     * process's deed afterwards, and is judged cautiously: an acquisition or renewal counts as failed, a release as done;
     * the hold count can then be too high until the lease is over, but never too low.
     *
     * @param owner 1 to 128 characters, as for a {@linkplain #of name}
     * @throws IllegalArgumentException if the owner is anything else
     */
    public LockRequest owner(String owner) {
        return new LockRequest(
                name,
                lease,
                waitTime,
                Names.checked("owner", owner, LockEntity.MAX_OWNER_LENGTH),
                minimumHold,
                reentrancy);
    }

    /** Treats a hold that the same thread (or the same {@linkplain #owner}) has already like anybody else's. */
    public LockRequest notReentrant() {
        return new LockRequest(name, lease, waitTime, owner, minimumHold, Reentrancy.REFUSED);
    }

    /**
     * Keeps everybody from being granted the lock for this long after the grant, even when it is released before: for
     * what must not run twice within a period. It is written with the grant, so a crash does not shorten it.
     *
     * @param minimumHold zero (none) to {@link #LONGEST_DURATION}
     * @throws IllegalArgumentException if it is negative or longer
     */
    public LockRequest minimumHold(Duration minimumHold) {
        return new LockRequest(name, lease, waitTime, owner, checkedDuration("minimum hold", minimumHold), reentrancy);
    }

    /** Returns what is to be locked. */
    public String name() {
        return name;
    }

    /** Returns the lease; empty if none was given. */
    public Optional<Duration> lease() {
        return Optional.ofNullable(lease);
    }

    /** Returns the wait time that was given; empty if none was. */
    public Optional<Duration> waitTime() {
        return Optional.ofNullable(waitTime);
    }

    /** Returns the owner that was chosen; empty if each acquisition makes its own. */
    public Optional<String> owner() {
        return Optional.ofNullable(owner);
    }

    /** Returns the minimum hold; empty if there is none. */
    public Optional<Duration> minimumHold() {
        return Optional.ofNullable(minimumHold).filter(duration -> !duration.isZero());
    }

    /** Returns whether the request joins a hold that its owner has already. */
    public boolean isReentrant() {
        return reentrancy == Reentrancy.ALLOWED;
    }

    /** Checks a lease that a user gives here or to {@link LockHandle#renew}. */
    static Duration checkedLease(Duration lease) {
        return checked("lease", lease, SHORTEST_LEASE);
    }

    /** Checks any other duration that a user gives. */
    static Duration checkedDuration(String what, Duration duration) {
        return checked(what, duration, Duration.ZERO);
    }

    private static Duration checked(String what, Duration duration, Duration shortest) {
        if (duration.compareTo(shortest) < 0 || duration.compareTo(LONGEST_DURATION) > 0) {
            throw new IllegalArgumentException(
                    "The " + what + " must be from " + shortest + " to " + LONGEST_DURATION + ", but is " + duration);
        }
        return duration;
    }

    @Override
    public String toString() {
        return "LockRequest[name=%s, lease=%s, waitTime=%s, owner=%s, minimumHold=%s, reentrancy=%s]"
                .formatted(name, lease, waitTime, owner, minimumHold, reentrancy);
    }
}
