package io.github.holdfast.lock;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockNames;
import io.github.holdfast.repository.ReadableDuration;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A request for a lock. It contains the lock's name, and how to acquire and hold the lock. Immutable: each method returns a
 * copy with one change.
 *
 * <pre>{@code
 * LockRequest.of("order:1001").lease(Duration.ofSeconds(30)).waitAtMost(Duration.ofSeconds(5))
 * }</pre>
 */
public final class LockRequest {

    /** The default wait time of {@link Locks#acquire}: 10 seconds. */
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
    private final HoldKind kind;
    private final Order order;
    private final LockMode mode;

    /** Whether a request may re-enter a hold that its owner already has. */
    private enum Reentrancy {
        ALLOWED,
        REFUSED
    }

    /** Whether transactions commit only while the lock is held. */
    private enum Fence {
        IF_POSSIBLE,
        REQUIRED,
        NONE
    }

    /** Whether the acquiring thread is interrupted when the lock is lost. */
    private enum OnLoss {
        NOTIFY,
        INTERRUPT
    }

    /** What holds the lock: a lease (its own or the node's), or a database lock on its row. */
    private enum HoldKind {
        LEASE,
        ROW
    }

    /** In which order requests of all processes are granted. */
    private enum Order {
        NONE,
        OF_ARRIVAL
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
            HoldKind kind,
            Order order,
            LockMode mode) {
        if (mode == LockMode.SHARED
                && (kind == HoldKind.ROW || owner != null || minimumHold != null || order == Order.OF_ARRIVAL)) {
            throw new IllegalArgumentException("Shared lock '" + name
                    + "' has several holders: it cannot be a row lock, cannot have a chosen owner or a minimum hold, and"
                    + " cannot be fair");
        }
        if (kind == HoldKind.ROW
                && (lease != null
                        || owner != null
                        || minimumHold != null
                        || reentrancy == Reentrancy.REFUSED
                        || onLoss == OnLoss.INTERRUPT
                        || order == Order.OF_ARRIVAL)) {
            throw new IllegalArgumentException("Row lock '" + name
                    + "' is held by a transaction: it cannot have a lease, an owner or a minimum hold, and cannot be"
                    + " notReentrant, interruptOnLoss or fair");
        }
        this.name = name;
        this.lease = lease;
        this.waitTime = waitTime;
        this.owner = owner;
        this.minimumHold = minimumHold;
        this.reentrancy = reentrancy;
        this.onLoss = onLoss;
        this.fence = fence;
        this.kind = kind;
        this.order = order;
        this.mode = mode;
    }

    /**
     * Returns a request for a lock. It has the default wait time and an owner of its own, and the same thread can re-enter the
     * lock. If you set no {@link #lease}, the lock is held until its release, for as long as the process lives and reaches the
     * database.
     *
     * @param name the name of the lock: 1 to 255 characters (UTF-16 code units), no control characters, no white space at either end.
     *     The comparison is byte by byte: names that differ in case, accents or Unicode form are different locks. Avoid names that
     *     begin with {@code holdfast:}: Holdfast's own locks have them, such as that of housekeeping, which would wait for yours
     * @throws IllegalArgumentException if the name breaks these rules
     */
    public static LockRequest of(String name) {
        return new LockRequest(
                LockNames.checked("name", name, LockEntity.MAX_NAME_LENGTH),
                null,
                null,
                null,
                null,
                Reentrancy.ALLOWED,
                OnLoss.NOTIFY,
                Fence.IF_POSSIBLE,
                HoldKind.LEASE,
                Order.NONE,
                LockMode.EXCLUSIVE);
    }

    /**
     * Limits the hold to this lease. Without a lease, the lock is held for as long as the process lives and reaches the database.
     * The lease starts at the grant, by the database's clock. A renewal extends it, and a release ends it. When it has expired, any
     * other owner can take the lock. Choose a lease that is longer than the work takes.
     *
     * @param lease {@link #SHORTEST_LEASE} to {@link #LONGEST_DURATION}
     * @throws IllegalArgumentException if it is out of that range
     */
    public LockRequest lease(Duration lease) {
        return new LockRequest(
                name, checkedLease(lease), waitTime, owner, minimumHold, reentrancy, onLoss, fence, kind, order, mode);
    }

    /**
     * Waits at most this long for the lock.
     *
     * @param waitTime zero (one attempt, without waiting for a holder) to {@link #LONGEST_DURATION}
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
                kind,
                order,
                mode);
    }

    /** Waits for the lock without a limit (more precisely, for {@link #LONGEST_DURATION}). */
    public LockRequest waitForever() {
        return waitAtMost(LONGEST_DURATION);
    }

    /**
     * Acquires the lock for this owner. By default, each acquisition generates its own owner. A request with the same owner
     * re-enters the hold from any thread, and from any process if the hold has a lease. <strong>Holders with the same owner do
     * not exclude each other.</strong>
     *
     * <p>Several processes can write for the same owner. If the database does not answer a write, the service cannot distinguish
     * its own write from another process's. It then makes the safe assumption: an acquisition or renewal has failed, and a release
     * has succeeded. The hold count can therefore be too high until the lease expires, but never too low.
     *
     * @param owner 1 to 128 characters, as for a {@linkplain #of name}
     * @throws IllegalArgumentException if the owner breaks these rules, or this requests a shared lock
     */
    public LockRequest owner(String owner) {
        return new LockRequest(
                name,
                lease,
                waitTime,
                LockNames.checked("owner", owner, LockEntity.MAX_OWNER_LENGTH),
                minimumHold,
                reentrancy,
                onLoss,
                fence,
                kind,
                order,
                mode);
    }

    /**
     * Disables re-entry. The request waits even for a hold of its own thread or {@linkplain #owner}. It does not wait for a hold without
     * a chosen owner that this thread has released in its current transaction: that hold goes on, with the rest of its lease, unless it
     * or this request has a {@linkplain #minimumHold minimum hold} that forbids it.
     */
    public LockRequest notReentrant() {
        return new LockRequest(
                name, lease, waitTime, owner, minimumHold, Reentrancy.REFUSED, onLoss, fence, kind, order, mode);
    }

    /**
     * Prevents the next grant of the lock for this long after this grant, even if the lock is released earlier. Use it for work
     * that must not run twice within a period. The statement that grants the lock also writes the minimum hold, so a crash does
     * not shorten it. A re-entry is no grant: it may continue the hold, and its own minimum hold is not written.
     *
     * @param minimumHold zero (none) to {@link #LONGEST_DURATION}
     * @throws IllegalArgumentException if it is negative or longer, or this requests a shared lock
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
                kind,
                order,
                mode);
    }

    /**
     * Interrupts the acquiring thread if the lock is lost before the release of its last handle. The outermost acquisition
     * decides this for all nested ones.
     */
    public LockRequest interruptOnLoss() {
        return new LockRequest(
                name, lease, waitTime, owner, minimumHold, reentrancy, OnLoss.INTERRUPT, fence, kind, order, mode);
    }

    /**
     * Makes the acquisition fail with {@link IllegalStateException} if the service cannot fence transactions. The service
     * cannot do this if it does not know the transaction manager, or if the application has replaced that manager's listeners. It
     * cannot fence the current transaction if that is read-only, if another manager began it, or if its commit has begun, as in {@code
     * afterCommit}: then acquire the lock inside the transaction that follows. It cannot fence a row lock outside a transaction either.
     *
     * @see io.github.holdfast.service.LockServiceBuilder#transactionManager
     */
    public LockRequest requireFence() {
        return new LockRequest(
                name, lease, waitTime, owner, minimumHold, reentrancy, onLoss, Fence.REQUIRED, kind, order, mode);
    }

    /**
     * Does not fence transactions: they commit even if the lock is lost. Use it for locks that protect nothing in the database.
     */
    public LockRequest withoutFence() {
        return new LockRequest(
                name, lease, waitTime, owner, minimumHold, reentrancy, onLoss, Fence.NONE, kind, order, mode);
    }

    /**
     * Holds the lock by locking its row in the database ({@code select … for update}) until a transaction ends. If the calling
     * thread is in a transaction of the service's {@linkplain io.github.holdfast.service.LockServiceBuilder#transactionManager
     * transaction manager}, that transaction holds the lock. The release is then deferred until the commit or rollback, so the
     * transaction's writes commit together with it. If the thread is in no transaction, the lock gets a transaction of its own,
     * which occupies a connection until the release.
     *
     * <p>Waiters wait in the database, and each of them occupies a connection. The database wakes them at once, even when the
     * holder's process dies. A row lock has no {@linkplain LockHandle#fencingToken fencing token}, and {@link Locks#find} does
     * not see it. The holder notices a loss only when it uses or releases the lock. A row lock also excludes locks of the same
     * name that a lease or a node holds. Avoid mixing the kinds for a name with much contention.
     *
     * <p>In a caller's transaction, the whole wait is one statement. An interrupt does not end it, and the database's own limit for row
     * locks may end it sooner with a {@link LockNotAcquiredException}: {@code innodb_lock_wait_timeout} on MySQL and MariaDB (50 seconds
     * by default), {@code lock_timeout} on PostgreSQL (none by default).
     *
     * <p>The same thread can re-enter a row lock. You cannot combine it with {@link #lease}, {@link #owner}, {@link #minimumHold},
     * {@link #notReentrant}, {@link #interruptOnLoss}, {@link #fair} or {@link #shared}. In a cluster with several writable
     * servers, row locks are refused, unless the application {@linkplain io.github.holdfast.service.LockServiceBuilder#singleWriter
     * writes to one of them}.
     *
     * @throws IllegalArgumentException if one of these was set
     */
    public LockRequest rowLock() {
        return new LockRequest(
                name, lease, waitTime, owner, minimumHold, reentrancy, onLoss, fence, HoldKind.ROW, order, mode);
    }

    /**
     * Acquires the lock in the order of arrival, among the fair requests of all processes. A fair request is granted only after
     * those that have waited longer have got the lock or given up. Requests that are not fair ignore this order, so use it for all
     * requests of a name. Four seconds after the process of a waiter has died or was suspended, other requests are granted before
     * it. It keeps its place: if its process continues in time, it is first again.
     *
     * <p>A request has arrived when the database has first refused it, by the database's clock. Two requests that come within a few
     * milliseconds may change places. A fair {@link Locks#tryAcquire} gets nothing while other fair requests wait. Re-entry does
     * not wait for them.
     *
     * <p>An acquisition costs one statement more, and always reads the row. If it must wait, it costs two more, which insert and
     * delete a row of {@code lock_waiter}. Threads of one service do not hand the lock on to each other. You cannot combine this
     * with {@link #rowLock} or {@link #shared}.
     *
     * @throws IllegalArgumentException if this requests a row lock or a shared lock
     */
    public LockRequest fair() {
        return new LockRequest(
                name, lease, waitTime, owner, minimumHold, reentrancy, onLoss, fence, kind, Order.OF_ARRIVAL, mode);
    }

    /**
     * Shares the lock with other shared requests, as readers do. While it is shared, no owner gets it exclusively; while it is held
     * exclusively, no owner shares it. Each shared holder has a hold of its own, which ends with its own release, lease or process.
     *
     * <p>An exclusive request that waits blocks new shared requests, so that it gets the lock after the present holders. So do not
     * wait, under a share, for another thread that requests a share too. A thread that holds the lock exclusively can also acquire
     * it shared; that is a nested hold of the exclusive lock. The reverse fails with a {@link LockUpgradeException}.
     *
     * <p>An acquisition costs four statements in two transactions, and a release costs one, and one more in the background. Threads
     * of one service that share a lock without a lease usually have one grant and one fencing token together. A thread then joins
     * and leaves without a statement: only the last one deletes the row, and one statement a second reads whether exclusive
     * requests wait. You cannot combine this with {@link #rowLock}, {@link #owner}, {@link #minimumHold} or {@link #fair}.
     *
     * @throws IllegalArgumentException if one of these was set
     */
    public LockRequest shared() {
        return new LockRequest(
                name, lease, waitTime, owner, minimumHold, reentrancy, onLoss, fence, kind, order, LockMode.SHARED);
    }

    /** Returns how the lock is to be held. */
    public LockMode mode() {
        return mode;
    }

    /** Returns whether the request is granted in the order of arrival, among the fair requests. */
    public boolean isFair() {
        return order == Order.OF_ARRIVAL;
    }

    /** Returns whether the acquisition fails if the service cannot fence transactions. */
    public boolean isFenceRequired() {
        return fence == Fence.REQUIRED;
    }

    /** Returns whether transactions commit even if the lock is lost. */
    public boolean isUnfenced() {
        return fence == Fence.NONE;
    }

    /** Returns the name of the lock. */
    public String name() {
        return name;
    }

    /** Returns the lease; empty if there is none. */
    public Optional<Duration> lease() {
        return Optional.ofNullable(lease);
    }

    /** Returns the wait time; empty if none is set. */
    public Optional<Duration> waitTime() {
        return Optional.ofNullable(waitTime);
    }

    /** Returns the chosen owner; empty if each acquisition generates its own. */
    public Optional<String> owner() {
        return Optional.ofNullable(owner);
    }

    /** Returns the minimum hold; empty if there is none. */
    public Optional<Duration> minimumHold() {
        return Optional.ofNullable(minimumHold).filter(duration -> !duration.isZero());
    }

    /** Returns whether the request re-enters a hold that its owner already has. */
    public boolean isReentrant() {
        return reentrancy == Reentrancy.ALLOWED;
    }

    /**
     * Checks the argument of {@link #lease(Duration)} or {@link LockHandle#renew}.
     *
     * @return the lease
     * @throws IllegalArgumentException if it is not from {@link #SHORTEST_LEASE} to {@link #LONGEST_DURATION}
     */
    public static Duration checkedLease(Duration lease) {
        return checked("lease", lease, SHORTEST_LEASE);
    }

    /**
     * Checks a duration that may be zero.
     *
     * @param what what the duration is, for the message
     * @return the duration
     * @throws IllegalArgumentException if it is not from zero to {@link #LONGEST_DURATION}
     */
    public static Duration checkedDuration(String what, Duration duration) {
        return checked(what, duration, Duration.ZERO);
    }

    /**
     * Checks a duration with its own minimum.
     *
     * @param what what the duration is, for the message
     * @return the duration
     * @throws IllegalArgumentException if it is not from this minimum to {@link #LONGEST_DURATION}
     */
    public static Duration checked(String what, Duration duration, Duration shortest) {
        if (duration.compareTo(shortest) < 0 || duration.compareTo(LONGEST_DURATION) > 0) {
            throw new IllegalArgumentException("The " + what + " must be from " + new ReadableDuration(shortest)
                    + " to " + new ReadableDuration(LONGEST_DURATION) + ", but is " + new ReadableDuration(duration));
        }
        return duration;
    }

    /** Returns whether this requests a row lock. */
    public boolean isRowLock() {
        return kind == HoldKind.ROW;
    }

    /** Returns whether a loss of the lock interrupts the acquiring thread. */
    public boolean isInterruptedOnLoss() {
        return onLoss == OnLoss.INTERRUPT;
    }

    @Override
    public String toString() {
        return "LockRequest[name=%s, lease=%s, waitTime=%s, owner=%s, minimumHold=%s, reentrancy=%s, onLoss=%s, fence=%s, kind=%s, order=%s, mode=%s]"
                .formatted(name, lease, waitTime, owner, minimumHold, reentrancy, onLoss, fence, kind, order, mode);
    }
}
