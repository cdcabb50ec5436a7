package io.github.holdfast.service;

import jakarta.persistence.EntityManager;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A lock that was acquired. Closing it releases it:
 *
 * <pre>{@code
 * try (LockHandle lock = locks.acquire(LockRequest.of("order:1001"))) {
 *     ship(order, lock.fencingToken());
 * }
 * }</pre>
 *
 * <p>Any thread may use a handle. What it says of its state is reckoned by the process's monotonic clock from the moment
 * before the statement was sent that granted or renewed the lease, or the node's, less a thousandth for the drift of clocks: it calls
 * the lock lost before the database does. The database's clock alone decides when others may take it.
 *
 * <p>A {@linkplain LockRequest#rowLock row lock} is held until its transaction ends: {@link #state()} and {@link #remaining()}
 * say that it is, {@link #ensureValidFor} and {@link #guard()} ask the database, {@link #onLost} is never called, and it has no
 * token and no lease. If its transaction is the caller's, only the thread of that may ask.
 */
public final class LockHandle implements AutoCloseable {

    private final Holding holding;

    /** Not a monitor: on Java 17 to 23, waiting for the database inside one would pin a virtual thread's carrier. */
    private final ReentrantLock releasing = new ReentrantLock();

    private volatile @Nullable ReleaseOutcome outcome;

    LockHandle(Holding holding) {
        this.holding = holding;
    }

    /** Returns what is locked. */
    public String name() {
        return holding.name();
    }

    /** Returns in whose name it is locked; the same for nested acquisitions. Of a row lock, who acquired it, for people. */
    public String owner() {
        return holding.owner();
    }

    /**
     * Returns the token of the grant: greater than that of every earlier grant of this name, and the same for nested
     * acquisitions. A resource that remembers the greatest token it has seen can refuse a late writer.
     *
     * @throws UnsupportedOperationException if it is a row lock, of which no row is written
     */
    public long fencingToken() {
        return holding.fencingToken();
    }

    /**
     * Returns how many nested acquisitions the owner has, this one included; 0 after the last release. Of an owner that
     * the user chose, it is what this process saw last.
     */
    public int holdCount() {
        return holding.holdCount();
    }

    /** Returns what is known of the hold without asking the database. */
    public LockState state() {
        return outcome == null ? holding.state() : LockState.RELEASED;
    }

    /**
     * Returns for how long nobody else can be granted the lock; zero if it was released or lost. A lease ends then unless it
     * is renewed, a lock that lives as long as its node unless a heartbeat gets through.
     */
    public Duration remaining() {
        return outcome == null ? holding.remaining() : Duration.ZERO;
    }

    /**
     * Lets the lock be held at least this long from now, by the database's clock at the write; it never shortens it. One
     * statement in a transaction of its own: it renews the lease, or if the lock lives as long as its node, the node's. Not
     * interruptible: it tries for 3 seconds and one connection timeout at the most.
     *
     * @param lease {@link LockRequest#SHORTEST_LEASE} to {@link LockRequest#LONGEST_DURATION}; for a lock that lives as long as
     *     its node, to the {@linkplain LockServiceBuilder#nodeLease lease of the node}
     * @throws IllegalArgumentException if it is out of that range
     * @throws IllegalStateException if this handle was released, or this thread's transaction has locked the row with {@link
     *     #guard()}
     * @throws LockLostException if the lock is lost
     * @throws LockStoreException if the database failed; the lock is held until its lease is over
     * @throws UnsupportedOperationException if it is a row lock
     */
    public void renew(Duration lease) {
        LockRequest.checkedLease(lease);
        checkNotReleased();
        holding.renew(lease);
    }

    /**
     * Makes sure that nobody else can be granted the lock for this long, and renews it if that is not so: to be called
     * before each effect outside the database. The renewed lease is as long as the first, or longer if that is needed.
     *
     * @param duration zero to {@link LockRequest#LONGEST_DURATION}; for a lock that lives as long as its node, less than the
     *     {@linkplain LockServiceBuilder#nodeLease lease of the node}
     * @throws IllegalArgumentException if it is out of that range
     * @throws IllegalStateException if this handle was released
     * @throws LockLostException if the lock is lost, or less than that is left although it was renewed
     * @throws LockStoreException if the database failed
     */
    public void ensureValidFor(Duration duration) {
        LockRequest.checkedDuration("duration", duration);
        checkNotReleased();
        holding.ensureValidFor(duration);
    }

    /**
     * Checks in the calling thread's transaction that the grant still stands, and locks its row until that ends, so that
     * nobody can be granted the lock before. Transactions that the service's transaction manager begins are checked like
     * that before they commit, without being asked; call this to know earlier. It flushes the persistence context; one
     * statement. Until the transaction ends, {@link #renew} and {@link #ensureValidFor} of a lock with a lease are refused on
     * this thread.
     *
     * @throws IllegalStateException if this handle was released, or the calling thread is not in a transaction that the
     *     service's {@linkplain LockServiceBuilder#transactionManager transaction manager} began
     * @throws LockLostException if somebody else was granted the lock; roll back
     * @throws LockStoreException if the database failed, or the lock's row was written after the transaction's first read at
     *     REPEATABLE READ or higher; roll back
     */
    public void guard() {
        checkNotReleased();
        holding.guard();
    }

    /**
     * As {@link #guard()}, in the transaction of this entity manager: for those who begin transactions themselves, with
     * {@code EntityTransaction}. Call it as the last thing before each commit, and release after the commit: what runs in such a
     * transaction is not seen by the service, so neither is it checked, nor does a release wait for it. A release before the
     * commit would wait for the row that this has locked, in vain.
     *
     * @param entityManager one of the persistence unit that the service was built on, with an active transaction
     * @throws IllegalStateException if this handle was released, or the entity manager has no active transaction, or is of
     *     another persistence unit
     * @throws LockLostException if somebody else was granted the lock; roll back
     * @throws LockStoreException if the database failed; roll back
     * @throws UnsupportedOperationException if it is a row lock
     */
    public void guard(EntityManager entityManager) {
        checkNotReleased();
        holding.guard(entityManager);
    }

    /**
     * Returns whether a transaction commits only while this lock is held: the one that the calling thread is in, or if it is in
     * none, the next one that the service's transaction manager begins on the thread that acquired the lock. Read-only
     * transactions are never checked.
     */
    public boolean isFenced() {
        return holding.isFenced();
    }

    /**
     * Lets the acquiring thread no longer re-enter this hold, nor be interrupted for it, nor the transactions be checked that
     * begin on it from now on: for a handle that is handed to another thread, while its own goes back to a pool.
     *
     * @return this handle
     */
    public LockHandle detach() {
        holding.detach();
        return this;
    }

    /**
     * Has the handler called when the lock is lost, once, whatever the thread that holds it is waiting for; at once if it is
     * lost already, and never if it is released before. A thread of the service calls all handlers, one after the other: be
     * quick. What a handler throws is logged. Nested handles share their loss.
     *
     * @return this handle
     */
    public LockHandle onLost(Consumer<LockLost> handler) {
        holding.onLost(Objects.requireNonNull(handler, "handler"));
        return this;
    }

    /**
     * Releases the lock, or gives one nested hold back: one statement in a transaction of its own. Not interruptible. It
     * never throws because the lock was lost or the database failed, and releasing again answers as the first time. Only what a driver
     * throws besides {@link java.sql.SQLException}, or an {@link Error}, comes through; the service then frees the lock later, and
     * releasing again answers {@link ReleaseOutcome#LOST}.
     *
     * <p>While a transaction that Spring manages and that ran under the lock is unfinished, suspended ones included, the last
     * release is put off until all of them have ended, and then done by a thread of the service. Re-entering the lock on the
     * same thread before that takes the release back. Of managers that the service was not {@linkplain
     * LockServiceBuilder#transactionManager told} of, only transactions count in which the lock is acquired or released. Plain
     * {@code EntityTransaction}s are not seen: release after their commit.
     *
     * <p>A row lock of a caller's transaction stays until that ends, one with a transaction of its own is rolled back: no
     * statement.
     *
     * @return what became of it; {@link ReleaseOutcome#DEFERRED} if it is put off; if the database does not answer for 3 seconds and one connection timeout, {@link
     *     ReleaseOutcome#UNRESOLVED}, and the service goes on trying
     */
    public ReleaseOutcome release() {
        releasing.lock();
        try {
            ReleaseOutcome first = outcome == null ? holding.release() : outcome;
            outcome = first;
            return first;
        } finally {
            releasing.unlock();
        }
    }

    /**
     * {@linkplain #release Releases} the lock.
     *
     * @throws LockLostException if it was lost before, and no transaction has committed while it stood: what was done under it may
     *     not have been alone. In a
     *     try-with-resources whose body throws, it is suppressed by what the body threw
     */
    @Override
    public void close() {
        boolean released = outcome != null;
        if (release() == ReleaseOutcome.LOST && !released) {
            holding.loss().ifPresent(lost -> {
                throw lost;
            });
        }
    }

    private void checkNotReleased() {
        if (outcome != null) {
            throw new IllegalStateException("The handle of lock '" + name() + "' was released");
        }
    }

    @Override
    public String toString() {
        return "LockHandle[%s, state=%s]".formatted(holding, state());
    }
}
