package io.github.holdfast.service;

import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A lock that was acquired. Closing it releases it:
 *
 * <pre>{@code
 * try (LockHandle lock = locks.acquire(LockRequest.of("order:1001").lease(Duration.ofSeconds(30)))) {
 *     ship(order, lock.fencingToken());
 * }
 * }</pre>
 *
 * <p>Any thread may use a handle. What it says of its state is reckoned by the process's monotonic clock from the moment
 * before the statement was sent that granted or renewed the lease, less a thousandth for the drift of clocks: it calls
 * the lock lost before the database does. The database's clock alone decides when others may take it.
 */
public final class LockHandle implements AutoCloseable {

    private final Hold hold;
    private final HeldLocks held;

    /** Not a monitor: on Java 17 to 23, waiting for the database inside one would pin a virtual thread's carrier. */
    private final ReentrantLock releasing = new ReentrantLock();

    private volatile @Nullable ReleaseOutcome outcome;

    LockHandle(Hold hold, HeldLocks held) {
        this.hold = hold;
        this.held = held;
    }

    /** Returns what is locked. */
    public String name() {
        return hold.name();
    }

    /** Returns in whose name it is locked; the same for nested acquisitions. */
    public String owner() {
        return hold.owner();
    }

    /**
     * Returns the token of the grant: greater than that of every earlier grant of this name, and the same for nested
     * acquisitions. A resource that remembers the greatest token it has seen can refuse a late writer.
     */
    public long fencingToken() {
        return hold.fencingToken();
    }

    /**
     * Returns how many nested acquisitions the owner has, this one included; 0 after the last release. Of an owner that
     * the user chose, it is what this process saw last.
     */
    public int holdCount() {
        return hold.holdCount();
    }

    /** Returns what is known of the hold without asking the database. */
    public LockState state() {
        if (outcome != null) {
            return LockState.RELEASED;
        }
        return hold.isLost() ? LockState.LOST : LockState.HELD;
    }

    /** Returns for how long nobody else can be granted the lock; zero if it was released or lost. */
    public Duration remaining() {
        return state() == LockState.HELD ? hold.remaining() : Duration.ZERO;
    }

    /**
     * Lets the lease last at least this long from now, by the database's clock at the write; it never shortens it. One
     * statement in a transaction of its own. Not interruptible: it tries for 3 seconds and one connection timeout at
     * the most.
     *
     * @param lease {@link LockRequest#SHORTEST_LEASE} to {@link LockRequest#LONGEST_DURATION}
     * @throws IllegalArgumentException if it is out of that range
     * @throws IllegalStateException if this handle was released
     * @throws LockLostException if the lock is lost
     * @throws LockStoreException if the database failed; the lock is held until its lease is over
     */
    public void renew(Duration lease) {
        LockRequest.checkedLease(lease);
        checkNotReleased();
        hold.renew(lease);
    }

    /**
     * Makes sure that nobody else can be granted the lock for this long, and renews it if that is not so: to be called
     * before each effect outside the database. The renewed lease is as long as the first, or longer if that is needed.
     *
     * @param duration zero to {@link LockRequest#LONGEST_DURATION}
     * @throws IllegalArgumentException if it is out of that range
     * @throws IllegalStateException if this handle was released
     * @throws LockLostException if the lock is lost, or less than that is left although it was renewed
     * @throws LockStoreException if the database failed
     */
    public void ensureValidFor(Duration duration) {
        LockRequest.checkedDuration("duration", duration);
        checkNotReleased();
        hold.ensureValidFor(duration);
    }

    /**
     * Lets the acquiring thread no longer re-enter this hold: for a handle that is handed to another thread, while its
     * own goes back to a pool.
     *
     * @return this handle
     */
    public LockHandle detach() {
        held.unbind(hold);
        return this;
    }

    /**
     * Releases the lock, or gives one nested hold back: one statement in a transaction of its own. Not interruptible. It
     * never throws because the lock was lost or the database failed, and releasing again answers as the first time.
     *
     * @return what became of it; if the database does not answer for 3 seconds and one connection timeout, {@link
     *     ReleaseOutcome#UNRESOLVED}, and the service goes on trying
     */
    public ReleaseOutcome release() {
        releasing.lock();
        try {
            ReleaseOutcome first = outcome == null ? hold.release() : outcome;
            outcome = first;
            return first;
        } finally {
            releasing.unlock();
        }
    }

    /**
     * {@linkplain #release Releases} the lock.
     *
     * @throws LockLostException if it was lost before: what was done under it may not have been alone. In a
     *     try-with-resources whose body throws, it is suppressed by what the body threw
     */
    @Override
    public void close() {
        boolean released = outcome != null;
        if (release() == ReleaseOutcome.LOST && !released) {
            throw hold.lost();
        }
    }

    private void checkNotReleased() {
        if (outcome != null) {
            throw new IllegalStateException("The handle of lock '" + name() + "' was released");
        }
    }

    @Override
    public String toString() {
        return "LockHandle[name=%s, owner=%s, fencingToken=%d, state=%s]"
                .formatted(name(), owner(), fencingToken(), state());
    }
}
