package io.github.holdfast.sharding;

import io.github.holdfast.lock.LockLostException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;

/** Views of the locks of one name on two shards, as one view. A thread has both, or neither. Thread-safe. */
final class PairedLock implements Lock {

    /** The views of a read-write lock. */
    record ReadWrite(Lock readLock, Lock writeLock) implements ReadWriteLock {

        static ReadWriteLock of(ReadWriteLock first, ReadWriteLock second) {
            return new ReadWrite(
                    new PairedLock(first.readLock(), second.readLock()),
                    new PairedLock(first.writeLock(), second.writeLock()));
        }
    }

    private final Lock first;
    private final Lock second;

    /** The first lock comes first in all processes. */
    PairedLock(Lock first, Lock second) {
        this.first = first;
        this.second = second;
    }

    /** Locks the second of the two, and returns whether that worked. */
    @FunctionalInterface
    private interface Step<E extends Exception> {
        boolean lock() throws E;
    }

    @Override
    public void lock() {
        first.lock();
        lockSecond(() -> {
            second.lock();
            return true;
        });
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        first.lockInterruptibly();
        this.<InterruptedException>lockSecond(() -> {
            second.lockInterruptibly();
            return true;
        });
    }

    @Override
    public boolean tryLock() {
        return first.tryLock() && lockSecond(second::tryLock);
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        long start = System.nanoTime();
        return first.tryLock(time, unit)
                && this.<InterruptedException>lockSecond(() -> second.tryLock(
                        Math.max(0, unit.toNanos(time) - (System.nanoTime() - start)), TimeUnit.NANOSECONDS));
    }

    private <E extends Exception> boolean lockSecond(Step<E> step) throws E {
        boolean isLocked = false;
        try {
            isLocked = step.lock();
            return isLocked;
        } finally {
            if (!isLocked) {
                unlockFirst();
            }
        }
    }

    private void unlockFirst() {
        try {
            first.unlock();
        } catch (LockLostException lost) {
            // Nothing was done under it.
        }
    }

    @Override
    public void unlock() {
        try {
            second.unlock();
        } catch (IllegalMonitorStateException notLocked) {
            // This thread may have locked the first one alone, by a view of that shard.
            throw notLocked;
        } catch (RuntimeException | Error failed) {
            Handles.doAfter(failed, first::unlock);
            throw failed;
        }
        first.unlock();
    }

    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException("A distributed lock has no conditions");
    }

    @Override
    public String toString() {
        return "PairedLock[" + first + ", " + second + "]";
    }
}
