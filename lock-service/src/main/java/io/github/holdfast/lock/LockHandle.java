package io.github.holdfast.lock;

import jakarta.persistence.EntityManager;
import java.time.Duration;
import java.util.function.Consumer;

/**
 * A handle of an acquired lock. Closing it releases the lock:
 *
 * <pre>{@code
 * try (LockHandle lock = locks.acquire(LockRequest.of("order:1001"))) {
 *     ship(order, lock.fencingToken());
 * }
 * }</pre>
 *
 * <p>Any thread may use a handle. The handle computes its state by the process's monotonic clock. It counts the lease, or the
 * node's lease, from just before the process sends the statement that grants or renews it, less a thousandth for clock drift. So it
 * reports the lock as lost before the database does. The database's clock alone decides when another owner may take the lock.
 *
 * <p>A {@linkplain LockRequest#rowLock row lock} lasts until its transaction ends. {@link #state()} and {@link #remaining()}
 * report it as held until then. {@link #ensureValidFor} and {@link #guard()} query the database. A row lock has no fencing
 * token and no lease, and never calls the handlers of {@link #onLost}. If it belongs to the caller's transaction, only that
 * transaction's thread may query it.
 */
public interface LockHandle extends AutoCloseable {

    /** Returns the name of the lock. */
    String name();

    /**
     * Returns the owner. Nested acquisitions have the same owner. The owner of a row lock is a readable description of its
     * acquirer.
     */
    String owner();

    /** Returns how the lock is held. A shared request of a thread that holds the lock exclusively gets an exclusive handle. */
    LockMode mode();

    /**
     * Returns the fencing token of the grant. Each grant of a name has a greater token than all earlier grants of the name. Nested
     * acquisitions have the same token. A resource that remembers the greatest token it has seen can refuse a late writer.
     *
     * @throws UnsupportedOperationException if this is a row lock, which has no token
     */
    long fencingToken();

    /**
     * Returns the number of the owner's nested acquisitions, this one included; 0 after the last release. If the {@linkplain
     * LockRequest#owner request names the owner}, this is the number that this process saw last.
     */
    int holdCount();

    /** Returns the state of the hold, without a database query. */
    LockState state();

    /**
     * Returns how much longer no other owner can get the lock; zero if the lock was released or lost. A lease then ends, unless
     * you renew it. A lock that lives as long as its node then ends, unless a heartbeat succeeds.
     */
    Duration remaining();

    /**
     * Extends the hold to at least this long from now, by the database's clock at the write. It never shortens the hold. It
     * renews the lease; if the lock lives as long as its node, it renews the node's lease. The renewal is one statement in a
     * transaction of its own. Not interruptible: it retries for at most 3 seconds and one connection timeout.
     *
     * @param lease {@link LockRequest#SHORTEST_LEASE} to {@link LockRequest#LONGEST_DURATION}. For a lock that lives as long as
     *     its node, the maximum is the {@linkplain io.github.holdfast.service.LockServiceBuilder#nodeLease lease of the node}
     * @throws IllegalArgumentException if it is out of that range
     * @throws IllegalStateException if this handle was released. For a lock with a lease, this is also thrown if this thread's
     *     transaction has locked the row with {@link #guard()}
     * @throws LockLostException if the lock is lost
     * @throws LockStoreException if the database failed; the lock stays held until its lease expires
     * @throws UnsupportedOperationException if it is a row lock
     */
    void renew(Duration lease);

    /**
     * Ensures that no other owner can get the lock for this long, and renews the lock if necessary. Call it before each effect
     * outside the database. The renewed lease is as long as the first one, or longer if necessary.
     *
     * @param duration zero to {@link LockRequest#LONGEST_DURATION}. For a lock that lives as long as its node, less than the
     *     {@linkplain io.github.holdfast.service.LockServiceBuilder#nodeLease lease of the node}
     * @throws IllegalArgumentException if it is out of that range
     * @throws IllegalStateException if this handle was released. Also if the lease needs a renewal, but this thread's
     *     transaction has locked the row with {@link #guard()}
     * @throws LockLostException if the lock is lost, or is valid for less than this duration even after the renewal
     * @throws LockStoreException if the database failed
     */
    void ensureValidFor(Duration duration);

    /**
     * Checks in the calling thread's transaction that the grant still stands, and locks its row. The row stays locked until the
     * transaction ends. No other owner can get the lock before that.
     *
     * <p>The service makes the same check before each commit of its transaction manager, without a call. Call this method to
     * learn of a loss earlier. The check flushes the persistence context and costs one statement. It has a side effect on a
     * lock with a lease: until the transaction ends, this thread cannot renew it. {@link #renew} fails, and so does {@link
     * #ensureValidFor} if the lease needs a renewal.
     *
     * @throws IllegalStateException if this handle was released, or the calling thread is not in a read-write transaction of
     *     the service's {@linkplain io.github.holdfast.service.LockServiceBuilder#transactionManager transaction manager}
     * @throws LockLostException if the lock is lost; roll back
     * @throws LockStoreException if the database failed; roll back. At REPEATABLE READ or higher, this is also thrown if another
     *     transaction has written the lock's row since this transaction's first read
     */
    void guard();

    /**
     * Checks the grant like {@link #guard()}, in the transaction of this entity manager. Use it in code that begins its own
     * transactions with {@code EntityTransaction}. Call it as the last step before each commit, and release the lock after the
     * commit. The service does not see such transactions. It does not check them, and a release does not wait for their end. If
     * you release before the commit, the row lock of this call blocks the release. In a transaction of the service's transaction manager,
     * this is the same as {@link #guard()}.
     *
     * @param entityManager an entity manager with an active transaction, of the service's persistence unit
     * @throws IllegalStateException if this handle was released, or the entity manager has no active transaction, or belongs to
     *     another persistence unit
     * @throws LockLostException if the lock is lost; roll back
     * @throws LockStoreException if the database failed; roll back
     * @throws UnsupportedOperationException if it is a row lock
     */
    void guard(EntityManager entityManager);

    /**
     * Returns whether the calling thread's transaction is fenced: whether it commits only while this lock is held. If the thread
     * has no transaction, the result applies to the next one that the service's transaction manager begins on the thread that
     * acquired the lock. The service never checks read-only transactions.
     */
    boolean isFenced();

    /**
     * Detaches the hold from the acquiring thread. That thread can no longer re-enter the hold, and a loss no longer interrupts
     * it. Transactions that begin on it from now on are not fenced by this lock. Call this method when you pass the handle to
     * another thread and the acquiring thread returns to a pool.
     *
     * @return this handle
     */
    LockHandle detach();

    /**
     * Changes the exclusive hold to a shared one: releases this handle, and returns the handle of a {@linkplain LockRequest#shared
     * share}. Other owners can share the lock from now on. No other owner gets it exclusively in between.
     *
     * <p>The share belongs to the calling thread. It lasts as long as this hold would have: it has a lease of the same length from now,
     * or lives as long as the node. It has a greater fencing token. Handlers of {@link #onLost} stay with this handle. A change back is
     * not possible: {@linkplain LockUpgradeException release the share first}.
     *
     * <p>Call it after the transaction in which you have written. Other holders may read what you have written as soon as they
     * share the lock, so it fails as long as the calling thread's transaction, or a Spring-managed one that ran under the lock, has
     * not ended. The service does not see plain {@code EntityTransaction}s: commit them first. Two statements in a transaction of
     * its own. Not interruptible.
     *
     * @return the handle of the share. Also close it if you close this handle: a second release of this handle does nothing
     * @throws IllegalStateException if nothing was done: this handle was released, or is not exclusive, or other handles of the hold
     *     are open; the calling thread's transaction, or one that ran under the lock, has not ended; the request had an {@linkplain
     *     LockRequest#owner owner} or a {@linkplain LockRequest#minimumHold minimum hold}; or the service is closed
     * @throws LockLostException if the lock is lost
     * @throws LockStoreException if the database failed, or does not answer for 3 seconds and one connection timeout. The lock is then
     *     released as by {@link #release()}, and not held at all
     * @throws UnsupportedOperationException if this is a row lock
     */
    LockHandle downgrade();

    /**
     * Calls the handler once when the lock is lost, even while the holding thread is blocked. If the lock is already lost, it
     * calls the handler at once. If the lock is released first, it never calls the handler. Handlers must be quick: one thread
     * of the service calls all of them, one after the other. The service logs an exception from a handler. All nested handles
     * lose the lock together.
     *
     * @return this handle
     */
    LockHandle onLost(Consumer<LockLost> handler);

    /**
     * Releases the lock, or one nested hold. This is one statement in a transaction of its own. Not interruptible. A lost lock
     * or a failed database never makes this method throw. A second call returns the same outcome as the first. The method
     * throws only an {@link Error}, or an exception of the driver other than {@link java.sql.SQLException}. After such an
     * exception, the service frees the lock later, and a second call returns {@link ReleaseOutcome#LOST}.
     *
     * <p>The last release is deferred until all Spring-managed transactions that ran under the lock have ended, suspended ones
     * included. A thread of the service then releases the lock. If the same thread re-enters the lock before that, it cancels
     * the release. The service sees all transactions of its own {@linkplain
     * io.github.holdfast.service.LockServiceBuilder#transactionManager transaction manager}. It sees a transaction of another
     * manager only if the lock is acquired or released in it. It does not see plain {@code EntityTransaction}s: release the
     * lock after their commit.
     *
     * <p>A row lock in the caller's transaction stays until that transaction ends. If a row lock has its own transaction, the
     * release rolls that transaction back. Neither costs a statement.
     *
     * @return the outcome. {@link ReleaseOutcome#DEFERRED} if the release is deferred. {@link ReleaseOutcome#UNRESOLVED} if the
     *     database does not answer for 3 seconds and one connection timeout; the service then keeps trying
     */
    ReleaseOutcome release();

    /**
     * {@linkplain #release Releases} the lock.
     *
     * @throws LockLostException if the lock was lost before, and no transaction has committed while it was held. The work under
     *     the lock may have overlapped with the work of another holder. If the body of a try-with-resources throws, this
     *     exception is added to the body's exception as suppressed
     */
    @Override
    void close();
}
