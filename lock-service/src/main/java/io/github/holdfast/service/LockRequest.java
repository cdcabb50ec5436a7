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
    private final OnLoss onLoss;
    private final Fence fence;
    private final Way way;

    /** Whether a request may join a hold that its owner has already. */
    private enum Reentrancy {
        ALLOWED,
        REFUSED
    }

    /** Whether transactions commit only while the lock is held. */
    enum Fence {
        IF_POSSIBLE,
        REQUIRED,
        NONE
    }

    /** Whether the acquiring thread is interrupted when the lock is lost. */
    private enum OnLoss {
        TELL,
        INTERRUPT
    }

    /** By what the lock is held. */
    private enum Way {
        LEASE,
        ROW
    }

    private LockRequest(
            String name,
            @Nullable Duration lease,
            @Nullable Duration waitTime,
            @Nullable String owner,
            @Nullable Duration minimumHold,
            Reentrancy reentrancy,
            OnLoss onLoss,
            Fence fence,
            Way way) {
        if (way == Way.ROW
                && (lease != null
                        || owner != null
                        || minimumHold != null
                        || reentrancy == Reentrancy.REFUSED
                        || onLoss == OnLoss.INTERRUPT)) {
            throw new IllegalArgumentException("The row lock '" + name
                    + "' is held by a transaction: it cannot have a lease, an owner or a minimum hold, be notReentrant, or"
                    + " interruptOnLoss");
        }
        this.name = name;
        this.lease = lease;
        this.waitTime = waitTime;
        this.owner = owner;
        this.minimumHold = minimumHold;
        this.reentrancy = reentrancy;
        this.onLoss = onLoss;
        this.fence = fence;
        this.way = way;
    }

    /**
     * A request for a lock, with the default wait time, an owner of its own, and re-entry by thread. Without a {@link #lease}
     * it is held until it is released, as long as the process lives and reaches the database.
     *
     * @param name what to lock: 1 to 255 characters (UTF-16 code units), no control characters, no white space at either
     *     end. Names are compared byte by byte: case, accents and Unicode forms make a difference
     * @throws IllegalArgumentException if the name is anything else
     */
    public static LockRequest of(String name) {
        return new LockRequest(
                Names.checked("name", name, LockEntity.MAX_NAME_LENGTH),
                null,
                null,
                null,
                null,
                Reentrancy.ALLOWED,
                OnLoss.TELL,
                Fence.IF_POSSIBLE,
                Way.LEASE);
    }

    /**
     * Holds the lock for this long, instead of as long as the process lives and is connected: by the database's clock from the moment it is granted, unless it is renewed or
     * released. When the lease is over anybody may take the lock: choose it longer than the work takes.
     *
     * @param lease {@link #SHORTEST_LEASE} to {@link #LONGEST_DURATION}
     * @throws IllegalArgumentException if it is out of that range
     */
    public LockRequest lease(Duration lease) {
        return new LockRequest(name, checkedLease(lease), waitTime, owner, minimumHold, reentrancy, onLoss, fence, way);
    }

    /**
     * Waits at most this long for the lock.
     *
     * @param waitTime zero (one decision) to {@link #LONGEST_DURATION}
     * @throws IllegalArgumentException if it is negative or longer
     */
    public LockRequest waitAtMost(Duration waitTime) {
        return new LockRequest(
                name,
                lease,
                checkedDuration("wait time", waitTime),
                owner,
                minimumHold,
                reentrancy,
                onLoss,
                fence,
                way);
    }

    /** Waits for the lock without a limit (in truth, for {@link #LONGEST_DURATION}). */
    public LockRequest waitForever() {
        return waitAtMost(LONGEST_DURATION);
    }

    /**
     * Acquires in the name of this owner, instead of one that is made for the acquisition. Whoever gives the same owner
     * re-enters the hold, from any thread, and if it has a lease from any process; <strong>holders with the same owner do not exclude each
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
                reentrancy,
                onLoss,
                fence,
                way);
    }

    /** Treats a hold that the same thread (or the same {@linkplain #owner}) has already like anybody else's. */
    public LockRequest notReentrant() {
        return new LockRequest(name, lease, waitTime, owner, minimumHold, Reentrancy.REFUSED, onLoss, fence, way);
    }

    /**
     * Keeps everybody from being granted the lock for this long after the grant, even when it is released before: for
     * what must not run twice within a period. It is written with the grant, so a crash does not shorten it.
     *
     * @param minimumHold zero (none) to {@link #LONGEST_DURATION}
     * @throws IllegalArgumentException if it is negative or longer
     */
    public LockRequest minimumHold(Duration minimumHold) {
        return new LockRequest(
                name,
                lease,
                waitTime,
                owner,
                checkedDuration("minimum hold", minimumHold),
                reentrancy,
                onLoss,
                fence,
                way);
    }

    /**
     * Interrupts the thread that acquires the lock when it is lost before its last handle is released. Nested acquisitions
     * follow the outermost one.
     */
    public LockRequest interruptOnLoss() {
        return new LockRequest(name, lease, waitTime, owner, minimumHold, reentrancy, OnLoss.INTERRUPT, fence, way);
    }

    /**
     * Refuses to acquire the lock where transactions cannot be kept from committing once it is lost: when the service does not
     * know the transaction manager, or that did not begin the transaction in which the lock is acquired.
     *
     * @see LockServiceBuilder#transactionManager
     */
    public LockRequest requireFence() {
        return new LockRequest(name, lease, waitTime, owner, minimumHold, reentrancy, onLoss, Fence.REQUIRED, way);
    }

    /** Lets transactions commit even if the lock is lost: for locks that protect nothing in the database. */
    public LockRequest withoutFence() {
        return new LockRequest(name, lease, waitTime, owner, minimumHold, reentrancy, onLoss, Fence.NONE, way);
    }

    /**
     * Holds the lock by having its row locked in the database ({@code select … for update}) until a transaction ends: the calling
     * thread's, if the service's {@linkplain LockServiceBuilder#transactionManager transaction manager} began it, and otherwise one
     * of its own, which takes a connection until the lock is released. In a caller's transaction its release waits for the
     * commit or rollback, and what the transaction writes commits together with it.
     *
     * <p>Whoever wants it waits in the database, which wakes it at once, also when the holder's process dies; for that it keeps a
     * connection. It excludes locks of the same name that are held by a lease or node, but is not seen by {@link
     * LockService#find}, has no {@linkplain LockHandle#fencingToken fencing token}, and its loss is noticed only when it is used
     * or released. Better not use both ways for a name that is often wanted.
     *
     * <p>It is re-entered by its thread. It cannot have a {@link #lease}, {@link #owner} or {@link #minimumHold}, be {@link
     * #notReentrant}, or {@link #interruptOnLoss}. In a cluster whose servers may all be written to, it is refused unless the application
     * {@linkplain LockServiceBuilder#singleWriter writes to one of them}.
     *
     * @throws IllegalArgumentException if one of these was asked for
     */
    public LockRequest rowLock() {
        return new LockRequest(name, lease, waitTime, owner, minimumHold, reentrancy, onLoss, fence, Way.ROW);
    }

    Fence fence() {
        return fence;
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

    /** Checks a duration against the longest one and this shortest one. */
    static Duration checked(String what, Duration duration, Duration shortest) {
        if (duration.compareTo(shortest) < 0 || duration.compareTo(LONGEST_DURATION) > 0) {
            throw new IllegalArgumentException(
                    "The " + what + " must be from " + shortest + " to " + LONGEST_DURATION + ", but is " + duration);
        }
        return duration;
    }

    /** Returns whether the lock is held by having its row locked. */
    public boolean isRowLock() {
        return way == Way.ROW;
    }

    /** Returns whether the acquiring thread is interrupted when the lock is lost. */
    public boolean isInterruptedOnLoss() {
        return onLoss == OnLoss.INTERRUPT;
    }

    @Override
    public String toString() {
        return "LockRequest[name=%s, lease=%s, waitTime=%s, owner=%s, minimumHold=%s, reentrancy=%s, onLoss=%s, fence=%s, way=%s]"
                .formatted(name, lease, waitTime, owner, minimumHold, reentrancy, onLoss, fence, way);
    }
}
