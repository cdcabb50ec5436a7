package io.github.holdfast.quorum;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;

/** A view of a lock as a {@code java.util.concurrent} lock. A thread holds it, not a handle. All views of one name are one lock. */
final class QuorumLock implements Lock {

    /** The handles that a thread has acquired through views. */
    static final class OfThread {

        private final ThreadLocal<Map<String, Deque<LockHandle>>> handles = ThreadLocal.withInitial(HashMap::new);

        void push(LockHandle handle) {
            handles.get()
                    .computeIfAbsent(handle.name(), name -> new ArrayDeque<>())
                    .push(handle);
        }

        Optional<LockHandle> pop(String name) {
            Deque<LockHandle> ofName = handles.get().getOrDefault(name, new ArrayDeque<>());
            Optional<LockHandle> last = Optional.ofNullable(ofName.poll());
            if (ofName.isEmpty()) {
                handles.get().remove(name);
            }
            return last;
        }
    }

    private final QuorumLocks locks;
    private final OfThread ofThread;
    private final LockRequest request;

    QuorumLock(QuorumLocks locks, OfThread ofThread, LockRequest request) {
        this.locks = locks;
        this.ofThread = ofThread;
        this.request = request;
    }

    @Override
    public void lock() {
        boolean isInterrupted = false;
        try {
            while (true) {
                try {
                    lockInterruptibly();
                    return;
                } catch (InterruptedException later) {
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
        ofThread.push(locks.acquire(request.waitForever()));
    }

    @Override
    public boolean tryLock() {
        Optional<LockHandle> handle = locks.tryAcquire(request);
        handle.ifPresent(ofThread::push);
        return handle.isPresent();
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        Duration wait = Duration.ofNanos(Math.max(0, unit.toNanos(time)));
        boolean isLonger = wait.compareTo(LockRequest.LONGEST_DURATION) > 0;
        try {
            ofThread.push(locks.acquire(request.waitAtMost(isLonger ? LockRequest.LONGEST_DURATION : wait)));
            return true;
        } catch (LockNotAcquiredException heldByAnother) {
            return false;
        }
    }

    @Override
    public void unlock() {
        ofThread.pop(request.name())
                .orElseThrow(() ->
                        new IllegalMonitorStateException("Lock '" + request.name() + "' is not locked by this thread"))
                .close();
    }

    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException("A distributed lock has no conditions");
    }

    @Override
    public String toString() {
        return "Lock[name=" + request.name() + "]";
    }
}
