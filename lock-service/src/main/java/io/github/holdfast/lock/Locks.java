package io.github.holdfast.lock;

import java.util.Collection;
import java.util.Optional;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import org.jspecify.annotations.Nullable;

/**
 * Acquires distributed locks. {@link io.github.holdfast.service.LockService} implements it with a database. Depend on this
 * interface if your tests replace it with a test double, or if your application routes requests to several services.
 * Thread-safe.
 *
 * <pre>{@code
 * class Shipping {
 *     private final Locks locks;
 *
 *     void ship(Order order) throws InterruptedException {
 *         locks.run(LockRequest.of("order:" + order.id()), lock -> carrier.ship(order, lock.fencingToken()));
 *     }
 * }
 * }</pre>
 */
public interface Locks {

    /**
     * Acquires a lock if it is free. It does not wait for a holder. Not interruptible.
     *
     * @param request without a wait time
     * @return the lock; empty if another owner holds it, or it is not available yet
     * @throws IllegalArgumentException if the request has a wait time
     * @throws IllegalStateException in these cases:
     *     <ul>
     *     <li>The service is closed.
     *     <li>The owner holds the lock with a lease, but the request has none.
     *     <li>This thread holds the lock as a row lock and now requests it as another kind, or the reverse. It would wait for
     *         itself.
     *     <li>The request {@linkplain LockRequest#requireFence requires a fence}, but the service cannot fence transactions
     *         here.
     *     <li>The request is for a row lock, but the {@linkplain io.github.holdfast.service.LockServiceBuilder#maxRowLocks
     *         limit} of row locks is reached.
     *     <li>The request is for a row lock, but the current transaction is read-only or unknown to the service.
     *     <li>The request is for a row lock, but the database is a cluster whose servers do not see each other's row locks.
     *     </ul>
     * @throws LockNotAcquiredException only for a row lock in the caller's transaction: if another owner acquires the lock as
     *     another kind at the same moment. You can then only roll the transaction back
     * @throws LockStoreException if the database failed, or the caller's transaction has loaded entities too early, as for
     *     {@link #acquire}
     * @throws LockLostException if the lease ended before the database answered. Also if the current transaction has already
     *     lost a lock of this name
     */
    Optional<LockHandle> tryAcquire(LockRequest request);

    /**
     * Acquires a lock. It waits for at most the wait time of the request ({@link LockRequest#DEFAULT_WAIT} if there is none).
     *
     * @throws IllegalStateException as for {@link #tryAcquire}. Also if the service is closed during the call
     * @throws LockNotAcquiredException if another owner held the lock until the wait time ended. If the request was for a
     *     {@linkplain LockRequest#rowLock row lock} in the caller's transaction, you can now only roll the transaction back (unless
     *     the wait time was zero). Any other failure of such a request has the same effect
     * @throws LockDeadlockException if the caller's transaction requested a row lock, and it and another transaction waited for
     *     each other
     * @throws LockStoreException if the database refused the operation. Also if the database failed, or the pool had no connection,
     *     until the wait time ended. At REPEATABLE READ on MySQL, MariaDB and H2, also if the caller's transaction loaded entities
     *     while another owner held the lock. That transaction may not see what was committed under the lock. This check does not
     *     apply to requests {@linkplain LockRequest#withoutFence without a fence}
     * @throws LockLostException if the lease ended before the database answered. Also if the current transaction has already
     *     lost a lock of this name
     * @throws InterruptedException if the thread is interrupted before the lock is acquired; nothing is held then
     */
    LockHandle acquire(LockRequest request) throws InterruptedException;

    /**
     * Acquires several locks, or none of them. It acquires them one after the other, in the order of their names. Two callers
     * with the same locks in different orders therefore cannot deadlock, unless they already hold other locks.
     *
     * @param requests at least one request, each for a different name. The shortest wait time applies to all of them together
     * @return the handles of all locks
     * @throws IllegalArgumentException if there is no request, or two requests have the same name
     * @throws InterruptedException if the thread is interrupted before it has all locks; none is held then
     * @throws LockLostException as for {@link #acquire}. Also if the lease of one ended while the call waited for another
     * @see #acquire for the other exceptions. After an exception none of the locks is held; in a Spring-managed transaction,
     *     none is held after its end
     */
    LockHandles acquireAll(Collection<LockRequest> requests) throws InterruptedException;

    /**
     * Acquires a lock, runs the task under it, and releases the lock.
     *
     * @return the result of the task
     * @throws E the exception of the task; a loss of the lock is added to it as suppressed
     * @throws LockLostException if the task succeeded, but the lock was lost before the task ended, and no transaction has
     *     committed under the lock
     * @throws InterruptedException if the thread is interrupted before the lock is acquired
     * @see #acquire for the other exceptions of the acquisition
     */
    default <T extends @Nullable Object, E extends Exception> T call(LockRequest request, LockedTask<T, E> task)
            throws E, InterruptedException {
        try (LockHandle lock = acquire(request)) {
            return task.call(lock);
        }
    }

    /**
     * Like {@link #call}, for a task without a result.
     *
     * @throws E the exception of the task
     * @throws InterruptedException if the thread is interrupted before the lock is acquired
     */
    default <E extends Exception> void run(LockRequest request, LockedAction<E> action) throws E, InterruptedException {
        try (LockHandle lock = acquire(request)) {
            action.run(lock);
        }
    }

    /**
     * Returns a view of a lock as a {@link Lock}. The locking thread holds the lock without a lease, and can re-enter it.
     * {@link Lock#lock} waits without a limit and defers an interrupt. {@link Lock#unlock} throws {@link LockLostException} as
     * {@link LockHandle#close} does. It throws {@link IllegalMonitorStateException} if this thread has not locked the lock
     * through a view. {@link Lock#newCondition} is not supported. The locking methods throw {@link LockStoreException} if the
     * database failed. Thread-safe; all views of one name are the same lock.
     *
     * @param name as for {@link LockRequest#of}
     * @throws IllegalArgumentException if the name is not valid
     */
    Lock asLock(String name);

    /**
     * Returns a view of a lock as a {@link ReadWriteLock}. Its read lock {@linkplain LockRequest#shared shares} the lock, and its
     * write lock is that of {@link #asLock}. A thread that has the write lock can also get the read lock, and keeps that when it
     * unlocks the write lock: other readers can get the lock from then on ({@link LockHandle#downgrade}). While a transaction under
     * the write lock has not ended, the lock stays exclusive until the read lock is unlocked. A thread that has only the read lock
     * gets a {@link LockUpgradeException} from the write lock. Thread-safe; all views of one name are the same lock.
     *
     * @param name as for {@link LockRequest#of}
     * @throws IllegalArgumentException if the name is not valid
     */
    ReadWriteLock asReadWriteLock(String name);

    /**
     * Returns the holder of a lock; if it is shared, the holder with the oldest grant. A holder whose lease has expired is not
     * returned, although the lock cannot be acquired before the clock tolerance has passed too. A holder whose node's lease has expired
     * is returned until a service has ended the node.
     *
     * @param name as for {@link LockRequest#of}
     * @return empty if the lock is not held
     * @throws IllegalArgumentException if the name is not valid
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed
     */
    Optional<LockInfo> find(String name);
}
