package io.github.holdfast.integration;

import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.Locks;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.Map;
import java.util.WeakHashMap;
import org.jspecify.annotations.Nullable;
import org.springframework.integration.support.locks.DistributedLock;
import org.springframework.integration.support.locks.LockRegistry;
import org.springframework.integration.support.locks.RenewableLockRegistry;
import org.springframework.util.Assert;

/**
 * A lock registry of Spring Integration whose locks are those of Holdfast. The name of a lock is the region, a colon and the key.
 * So {@link Locks} and the tools for operators see it under that name.
 *
 * <p>A thread holds a lock, and can re-enter it. Two kinds of holds are possible:
 *
 * <ul>
 *   <li>Without a time to live, the lock is held until it is unlocked, for as long as the process lives and reaches the database.
 *       Nothing has to renew it.
 *   <li>{@link DistributedLock#lock(Duration)} and {@link DistributedLock#tryLock(Duration, Duration)} hold the lock with a
 *       lease. The lock is lost when the lease has expired, unless {@link #renewLock(Object)} renews it.
 * </ul>
 *
 * <p>A lock costs what {@link Locks#acquire} costs, and what its release costs. A nested acquisition costs no statement, except
 * that a nested request with a time to live renews the lease with one statement. A nested release costs none.
 *
 * <p>The locks throw these exceptions:
 *
 * <ul>
 *   <li>{@link org.springframework.dao.CannotAcquireLockException} from a locking method: the database failed, or this thread has
 *       lost the lock since it locked it. The exception of Holdfast is the cause. A thread that has lost the lock must unlock it
 *       before it can lock it again.
 *   <li>{@link java.util.ConcurrentModificationException} from {@code unlock}: the lock was lost before, and no transaction has
 *       committed while it was held. The work under the lock may have overlapped with the work of another holder. The lock counts
 *       as lost when its lease has expired, even if no other owner has locked it.
 *   <li>{@link IllegalMonitorStateException} from {@code unlock}: this thread does not hold the lock.
 *   <li>{@link IllegalStateException} from a locking method: the lock service is closed. {@link Locks#tryAcquire} has further
 *       cases.
 *   <li>{@link UnsupportedOperationException} from {@code newCondition}.
 * </ul>
 *
 * <p>{@code unlock} does not fail if the database does not answer. The service then keeps trying to free the lock. If the thread is
 * in a Spring-managed transaction under the lock, the lock becomes free when that transaction has ended.
 *
 * <p>Thread-safe. The registry needs no care: it has no threads, and forgets a lock that no code refers to.
 */
public final class HoldfastLockRegistry implements RenewableLockRegistry<DistributedLock> {

    /** The region of a registry that was given none. */
    public static final String DEFAULT_REGION = "DEFAULT";

    private final Locks locks;
    private final String region;
    private final ThreadHolds holds = new ThreadHolds();

    /** Each lock is its own key. An entry goes when no code refers to its lock. The holds of threads are kept elsewhere. */
    private final Map<HoldfastLock, WeakReference<HoldfastLock>> interned = new WeakHashMap<>();

    private HoldfastLockRegistry(Locks locks, String region) {
        this.locks = locks;
        this.region = checkedRegion(region);
    }

    /**
     * Returns a registry for the {@linkplain #DEFAULT_REGION default region}.
     *
     * @param locks what acquires the locks, usually a {@code LockService}. The registry does not close it
     */
    public static HoldfastLockRegistry of(Locks locks) {
        return of(locks, DEFAULT_REGION);
    }

    /**
     * Returns a registry for a region. All nodes of an application need the same one. Registries of different regions have no
     * lock in common.
     *
     * @param locks what acquires the locks, usually a {@code LockService}. The registry does not close it
     * @param region the beginning of the locks' names: no colon, and otherwise as for {@link LockRequest#of}
     * @throws IllegalArgumentException if the region is not valid
     */
    public static HoldfastLockRegistry of(Locks locks, String region) {
        return new HoldfastLockRegistry(locks, region);
    }

    /** With a colon in a region, two regions could have the same lock. */
    static String checkedRegion(String region) {
        Assert.isTrue(region.indexOf(':') < 0, () -> "The region '" + region + "' must not contain a colon");
        return LockRequest.of(region).name();
    }

    /** Returns the region. */
    public String region() {
        return region;
    }

    /**
     * Returns the lock of a key. The same lock is returned for as long as any code refers to it. It costs no statement.
     *
     * @param lockKey a string without control characters, and without white space at its end. It has up to 254 characters, less
     *     those of the region
     * @throws IllegalArgumentException if it is not such a string
     */
    @Override
    public DistributedLock obtain(Object lockKey) {
        return lock(lockKey);
    }

    HoldfastLock lock(Object lockKey) {
        Assert.isInstanceOf(String.class, lockKey, "The key of a lock must be a string. ");
        HoldfastLock lock = new HoldfastLock(locks, holds, LockRequest.of(region + ':' + lockKey));
        synchronized (interned) {
            @Nullable WeakReference<HoldfastLock> known = interned.get(lock);
            @Nullable HoldfastLock same = known == null ? null : known.get();
            if (same != null) {
                return same;
            }
            interned.put(lock, new WeakReference<>(lock));
            return lock;
        }
    }

    /**
     * Renews a lock that this thread holds. A lock with a time to live gets it again, by the database's clock; that is one
     * statement. Any other lock needs no renewal. For it, this only checks whether the lock is lost, without a statement.
     *
     * @param lockKey as for {@link #obtain}
     * @throws IllegalArgumentException if the key is not valid
     * @throws IllegalMonitorStateException if this thread does not hold the lock
     * @throws IllegalStateException if the lock is lost; also if this thread's transaction has locked the row of the lock by
     *     {@code LockHandle.guard}
     * @throws org.springframework.dao.DataAccessResourceFailureException if the database failed; the lock stays held until its
     *     lease has expired
     */
    @Override
    public void renewLock(Object lockKey) {
        lock(lockKey).renew(null);
    }

    /**
     * Renews a lock that this thread holds, with another time to live. It never shortens the lease. See {@link
     * #renewLock(Object)} for the cost and the exceptions.
     *
     * @param lockKey as for {@link #obtain}
     * @param ttl {@link LockRequest#SHORTEST_LEASE} to {@link LockRequest#LONGEST_DURATION}; ignored if the lock was locked
     *     without a time to live
     * @throws IllegalArgumentException if the duration is out of that range
     */
    @Override
    public void renewLock(Object lockKey, Duration ttl) {
        lock(lockKey).renew(LockRequest.checkedLease(ttl));
    }

    /**
     * Returns a registry whose locks are those of this registry and of another one: a thread holds both, or neither. It serves an
     * application that changes from the other registry to this one, and whose nodes are replaced one after the other. Nodes with
     * the returned registry exclude nodes with either of the two.
     *
     * <p>It takes the lock of this registry first, so that the other one's time to live begins with the work. A time to live
     * applies to both, if the other registry supports it. Costs and exceptions are those of both registries. In addition, a
     * locking method throws {@link org.springframework.dao.CannotAcquireLockException} if one of the locks was lost while it
     * waited for the other one, or if a nested {@code tryLock} finds that another node has taken the old lock.
     *
     * @param former the registry that is replaced
     */
    public RenewableLockRegistry<DistributedLock> togetherWith(LockRegistry<?> former) {
        return new TransitionLockRegistry(this, former);
    }

    @Override
    public String toString() {
        return "HoldfastLockRegistry[region=" + region + "]";
    }
}
