package io.github.holdfast.service;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockMode;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A view of a lock as a {@code java.util.concurrent} lock. A thread holds it, not a handle. All views of one name and mode are one
 * lock.
 */
final class LockView implements Lock {

    /**
     * The handles that a thread acquired through views: per view, the innermost first. They become garbage when the thread
     * ends.
     */
    static final class OfThread {

        private record View(String name, LockMode mode) {

            static View of(LockRequest request) {
                return new View(request.name(), request.mode());
            }
        }

        private final ThreadLocal<Map<View, Deque<LockHandle>>> handles = ThreadLocal.withInitial(HashMap::new);

        private void push(LockRequest request, LockHandle handle) {
            handles.get()
                    .computeIfAbsent(View.of(request), view -> new ArrayDeque<>())
                    .push(handle);
        }

        /** Returns the handles of a view, the innermost first. */
        private List<LockHandle> open(LockRequest request) {
            Deque<LockHandle> ofView = handles.get().get(View.of(request));
            return ofView == null ? List.of() : List.copyOf(ofView);
        }

        private void replace(LockRequest request, List<LockHandle> by) {
            handles.get().put(View.of(request), new ArrayDeque<>(by));
        }

        private @Nullable LockHandle pop(LockRequest request) {
            View view = View.of(request);
            Deque<LockHandle> ofView = handles.get().get(view);
            if (ofView == null) {
                return null;
            }
            LockHandle handle = ofView.pop();
            if (ofView.isEmpty()) {
                handles.get().remove(view);
            }
            return handle;
        }
    }

    private static final Logger LOG = LoggerFactory.getLogger(LockView.class);

    private final LockService locks;
    private final OfThread ofThread;
    private final LockRequest request;

    LockView(LockService locks, OfThread ofThread, LockRequest request) {
        this.locks = locks;
        this.ofThread = ofThread;
        this.request = request;
    }

    @Override
    public void lock() {
        ofThread.push(request, locks.acquireUninterruptibly(request.waitForever()));
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        ofThread.push(request, locks.acquire(request.waitForever()));
    }

    @Override
    public boolean tryLock() {
        Optional<LockHandle> handle = locks.tryAcquire(request);
        handle.ifPresent(granted -> ofThread.push(request, granted));
        return handle.isPresent();
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        Duration wait = Duration.ofNanos(Math.max(0, unit.toNanos(time)));
        boolean isLonger = wait.compareTo(LockRequest.LONGEST_DURATION) > 0;
        try {
            ofThread.push(request, locks.acquire(request.waitAtMost(isLonger ? LockRequest.LONGEST_DURATION : wait)));
            return true;
        } catch (LockNotAcquiredException heldByAnother) {
            return false;
        }
    }

    @Override
    public void unlock() {
        LockHandle handle = ofThread.pop(request);
        if (handle == null) {
            throw new IllegalMonitorStateException("Lock '" + request.name() + "' is not locked by this thread");
        }
        List<LockHandle> shares = ofThread.open(LockRequest.of(request.name()).shared());
        boolean isLast = ofThread.open(request).isEmpty();
        if (request.mode() == LockMode.EXCLUSIVE && isLast && !shares.isEmpty()) {
            unlockAndShare(handle, shares);
        } else {
            handle.close();
        }
    }

    /** Releases the last write lock of a thread that has read locks, as {@code ReentrantReadWriteLock} does: it keeps those. */
    private void unlockAndShare(LockHandle handle, List<LockHandle> shares) {
        LockRequest shared = LockRequest.of(request.name()).shared();
        List<LockHandle> kept = new ArrayList<>();
        try (LockHandle unlocked = handle) {
            shares.forEach(LockHandle::close);
            try {
                kept.add(unlocked.downgrade());
            } catch (IllegalStateException cannotBeSharedYet) {
                LOG.debug(
                        "Lock '{}' stays exclusive until the last read lock is unlocked",
                        request.name(),
                        cannotBeSharedYet);
            }
            for (int next = kept.size(); next < shares.size(); next++) {
                // The thread holds the lock, so this re-enters it.
                locks.tryAcquire(shared).ifPresent(kept::add);
            }
        } finally {
            // If the lock is lost, the last unlock of the closed handles does nothing.
            ofThread.replace(shared, kept.isEmpty() ? shares : kept);
        }
    }

    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException("A distributed lock has no conditions");
    }

    @Override
    public String toString() {
        return "Lock[name=" + request.name() + ", mode=" + request.mode() + "]";
    }
}
