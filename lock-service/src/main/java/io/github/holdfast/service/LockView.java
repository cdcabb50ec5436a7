package io.github.holdfast.service;

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
import org.jspecify.annotations.Nullable;

/**
 * A view of a lock as a {@code java.util.concurrent} lock. A thread holds it, not a handle. All views of one name are one lock.
 */
final class LockView implements Lock {

    /**
     * The handles that a thread acquired through views: per name, the innermost first. They become garbage when the thread
     * ends.
     */
    static final class OfThread {

        private final ThreadLocal<Map<String, Deque<LockHandle>>> handles = ThreadLocal.withInitial(HashMap::new);

        private void push(LockHandle handle) {
            handles.get()
                    .computeIfAbsent(handle.name(), name -> new ArrayDeque<>())
                    .push(handle);
        }

        private @Nullable LockHandle pop(String name) {
            Deque<LockHandle> ofName = handles.get().get(name);
            if (ofName == null) {
                return null;
            }
            LockHandle handle = ofName.pop();
            if (ofName.isEmpty()) {
                handles.get().remove(name);
            }
            return handle;
        }
    }

    private final LockService locks;
    private final OfThread ofThread;
    private final LockRequest request;

    LockView(LockService locks, OfThread ofThread, String name) {
        this.locks = locks;
        this.ofThread = ofThread;
        this.request = LockRequest.of(name);
    }

    @Override
    public void lock() {
        ofThread.push(locks.acquireUninterruptibly(request.waitForever()));
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
        LockHandle handle = ofThread.pop(request.name());
        if (handle == null) {
            throw new IllegalMonitorStateException("Lock '" + request.name() + "' is not locked by this thread");
        }
        handle.close();
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
