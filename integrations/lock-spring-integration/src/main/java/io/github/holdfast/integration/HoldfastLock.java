package io.github.holdfast.integration;

import io.github.holdfast.integration.ThreadHolds.Hold;
import io.github.holdfast.lock.HoldfastException;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.Locks;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import org.jspecify.annotations.Nullable;
import org.springframework.dao.CannotAcquireLockException;
import org.springframework.dao.DataAccessResourceFailureException;
import org.springframework.integration.support.locks.DistributedLock;

/** A lock of the registry. It has no state: two objects of one registry and name are the same lock. Thread-safe. */
final class HoldfastLock implements DistributedLock {

    private final Locks locks;
    private final ThreadHolds holds;
    private final LockRequest request;

    /** A lock with the name of the request. */
    HoldfastLock(Locks locks, ThreadHolds holds, LockRequest request) {
        this.locks = locks;
        this.holds = holds;
        this.request = request;
    }

    @Override
    public void lock() {
        lockUninterruptibly(request);
    }

    @Override
    public void lock(Duration ttl) {
        lockUninterruptibly(request.lease(ttl));
    }

    /** Puts interrupts aside: one in between sets the interrupt flag at the end. */
    private void lockUninterruptibly(LockRequest wanted) {
        boolean isLocked = false;
        boolean isInterrupted = false;
        try {
            while (!isLocked) {
                try {
                    lockInterruptibly(wanted);
                    isLocked = true;
                } catch (InterruptedException putAside) {
                    isInterrupted = true;
                }
            }
        } finally {
            if (isInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        lockInterruptibly(request);
    }

    private void lockInterruptibly(LockRequest wanted) throws InterruptedException {
        boolean isLocked = false;
        while (!isLocked) {
            // Even this wait ends some time, after a year.
            isLocked = acquire(wanted.waitForever());
        }
    }

    @Override
    public boolean tryLock() {
        if (reenter(request)) {
            return true;
        }
        try {
            Optional<LockHandle> granted = locks.tryAcquire(request);
            granted.ifPresent(handle -> holds.begin(request, handle));
            return granted.isPresent();
        } catch (HoldfastException failed) {
            throw notAcquired(failed);
        }
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        return acquire(request.waitAtMost(waitTime(Duration.ofNanos(unit.toNanos(time)))));
    }

    @Override
    public boolean tryLock(Duration waitTime, Duration ttl) throws InterruptedException {
        return acquire(request.lease(ttl).waitAtMost(waitTime(waitTime)));
    }

    /** Unlike a request, this interface allows negative wait times, and longer ones. */
    static Duration waitTime(Duration wanted) {
        if (wanted.isNegative()) {
            return Duration.ZERO;
        }
        return wanted.compareTo(LockRequest.LONGEST_DURATION) > 0 ? LockRequest.LONGEST_DURATION : wanted;
    }

    private boolean acquire(LockRequest wanted) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        if (reenter(wanted)) {
            return true;
        }
        try {
            holds.begin(wanted, locks.acquire(wanted));
            return true;
        } catch (LockNotAcquiredException heldByAnother) {
            return false;
        } catch (HoldfastException failed) {
            throw notAcquired(failed);
        }
    }

    /**
     * Enters the hold of this thread once more; returns false if there is none. Fails if the hold is lost. A new grant in its
     * place would hide the loss from the code of the outer acquisition, and the inner release would free it under that code.
     */
    private boolean reenter(LockRequest wanted) {
        @Nullable Hold hold = holds.find(wanted.name());
        if (hold == null) {
            return false;
        }
        try {
            extend(hold, wanted.lease().orElse(null));
        } catch (HoldfastException failed) {
            throw notAcquired(failed);
        }
        holds.enter(hold);
        return true;
    }

    /** Checks that the hold is not lost, and extends its lease, if it has one: a lock without a lease lasts as long as its node. */
    private static void extend(Hold hold, @Nullable Duration ttl) {
        if (hold.lease() == null || ttl == null) {
            hold.handle().ensureValidFor(Duration.ZERO);
        } else {
            hold.handle().renew(ttl);
        }
    }

    private CannotAcquireLockException notAcquired(HoldfastException failed) {
        return new CannotAcquireLockException(messageOf(failed), failed);
    }

    @Override
    public void unlock() {
        Hold hold = held();
        if (holds.leave(hold)) {
            try {
                hold.handle().close();
            } catch (LockLostException lost) {
                throw new ConcurrentModificationException(
                        messageOf(lost) + ". What it protects may have been changed by another holder meanwhile", lost);
            }
        }
    }

    /**
     * Renews the hold of this thread.
     *
     * @param ttl the time to live; null for the one that the lock was locked with
     */
    void renew(@Nullable Duration ttl) {
        Hold hold = held();
        try {
            extend(hold, ttl == null ? hold.lease() : ttl);
        } catch (LockLostException lost) {
            throw new IllegalStateException(messageOf(lost), lost);
        } catch (LockStoreException failed) {
            throw new DataAccessResourceFailureException(messageOf(failed), failed);
        }
    }

    boolean isHeldByCurrentThread() {
        return holds.find(request.name()) != null;
    }

    private Hold held() {
        @Nullable Hold hold = holds.find(request.name());
        if (hold == null) {
            throw new IllegalMonitorStateException("This thread does not own lock '" + request.name() + "'");
        }
        return hold;
    }

    private static String messageOf(HoldfastException thrown) {
        return String.valueOf(thrown.getMessage());
    }

    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException("A distributed lock has no conditions");
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof HoldfastLock lock
                && lock.holds == holds
                && lock.request.name().equals(request.name());
    }

    @Override
    public int hashCode() {
        return request.name().hashCode();
    }

    @Override
    public String toString() {
        return "HoldfastLock[name=" + request.name() + "]";
    }
}
