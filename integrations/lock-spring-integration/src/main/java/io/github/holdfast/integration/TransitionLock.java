package io.github.holdfast.integration;

import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import org.jspecify.annotations.Nullable;
import org.springframework.dao.CannotAcquireLockException;
import org.springframework.integration.support.locks.DistributedLock;

/**
 * A lock of Holdfast together with one of the old registry. A thread holds both, or neither. Holdfast's lock comes first: without
 * a time to live, it does not end while the thread waits for the other one, and the other one's time to live begins with the work.
 * All nodes take the two in this order, so they cannot deadlock. Thread-safe.
 */
final class TransitionLock implements DistributedLock {

    private final HoldfastLock lock;
    private final Lock former;

    TransitionLock(HoldfastLock lock, Lock former) {
        this.lock = lock;
        this.former = former;
    }

    /** Locks one of the two, and returns whether that worked. */
    @FunctionalInterface
    private interface Step<E extends Exception> {
        boolean lock() throws E;
    }

    /** Unlocks one of the two. */
    @FunctionalInterface
    private interface Held extends AutoCloseable {
        @Override
        void close();
    }

    @Override
    public void lock() {
        lockBoth(
                null,
                () -> {
                    lock.lock();
                    return true;
                },
                () -> {
                    former.lock();
                    return true;
                });
    }

    @Override
    public void lock(Duration ttl) {
        lockBoth(
                ttl,
                () -> {
                    lock.lock(ttl);
                    return true;
                },
                () -> {
                    if (former instanceof DistributedLock withTtl) {
                        withTtl.lock(ttl);
                    } else {
                        former.lock();
                    }
                    return true;
                });
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        this.<InterruptedException>lockBoth(
                null,
                () -> {
                    lock.lockInterruptibly();
                    return true;
                },
                () -> {
                    former.lockInterruptibly();
                    return true;
                });
    }

    @Override
    public boolean tryLock() {
        return lockBoth(null, lock::tryLock, former::tryLock);
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        long end = System.nanoTime() + unit.toNanos(time);
        return this.<InterruptedException>lockBoth(
                null, () -> lock.tryLock(time, unit), () -> former.tryLock(nanosUntil(end), TimeUnit.NANOSECONDS));
    }

    @Override
    public boolean tryLock(Duration waitTime, Duration ttl) throws InterruptedException {
        long end = System.nanoTime() + HoldfastLock.waitTime(waitTime).toNanos();
        return this.<InterruptedException>lockBoth(
                ttl,
                () -> lock.tryLock(waitTime, ttl),
                () -> former instanceof DistributedLock withTtl
                        ? withTtl.tryLock(Duration.ofNanos(nanosUntil(end)), ttl)
                        : former.tryLock(nanosUntil(end), TimeUnit.NANOSECONDS));
    }

    private static long nanosUntil(long end) {
        return Math.max(0, end - System.nanoTime());
    }

    private <E extends Exception> boolean lockBoth(@Nullable Duration ttl, Step<E> ours, Step<E> theirs) throws E {
        boolean isNested = lock.isHeldByCurrentThread();
        if (!ours.lock()) {
            return false;
        }
        boolean isLocked = false;
        try {
            isLocked = theirs.lock();
            if (isLocked) {
                confirm(ttl);
            } else if (isNested) {
                throw new CannotAcquireLockException("The old lock of " + lock + " is lost");
            }
        } catch (Throwable notBoth) {
            giveBack();
            throw notBoth;
        }
        if (!isLocked) {
            giveBack();
        }
        return isLocked;
    }

    /** Checks that Holdfast's lock still stands after the wait for the other one, and lets its time to live begin anew. */
    private void confirm(@Nullable Duration ttl) {
        try {
            lock.renew(ttl);
        } catch (RuntimeException lost) {
            CannotAcquireLockException failed = new CannotAcquireLockException(String.valueOf(lost.getMessage()), lost);
            try (Held unused = former::unlock) {
                throw failed;
            }
        }
    }

    private void giveBack() {
        try {
            lock.unlock();
        } catch (ConcurrentModificationException lost) {
            // Nothing was done under it. If it is nested, the outer unlock reports the loss.
        }
    }

    /** Unlocks both, even if one of them fails. */
    @Override
    public void unlock() {
        try (Held ours = lock::unlock) {
            former.unlock();
        }
    }

    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException("A distributed lock has no conditions");
    }

    @Override
    public String toString() {
        return "TransitionLock[" + lock + ", " + former + "]";
    }
}
