package io.github.holdfast.integration;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The holds of the calling thread on the locks of one registry, by the names of the locks. They are not kept in the lock objects,
 * because a thread may drop a lock object, and unlock another one of the same name. Thread-safe.
 */
final class ThreadHolds {

    /** One hold, with the number of acquisitions that a thread has nested. */
    static final class Hold {

        private final LockHandle handle;
        private final @Nullable Duration lease;
        private int depth = 1;

        private Hold(LockHandle handle, @Nullable Duration lease) {
            this.handle = handle;
            this.lease = lease;
        }

        LockHandle handle() {
            return handle;
        }

        /** Returns the time to live that the lock was locked with; null if there was none. */
        @Nullable
        Duration lease() {
            return lease;
        }
    }

    /** A thread without a hold has no map. Not static, because registries do not share holds. */
    @SuppressWarnings("ThreadLocalUsage")
    private final ThreadLocal<Map<String, Hold>> ofThread = new ThreadLocal<>();

    /** Returns the hold on a lock; null if there is none. */
    @Nullable
    Hold find(String name) {
        Map<String, Hold> holds = ofThread.get();
        return holds == null ? null : holds.get(name);
    }

    void begin(LockRequest request, LockHandle handle) {
        Map<String, Hold> holds = ofThread.get();
        if (holds == null) {
            holds = new HashMap<>();
            ofThread.set(holds);
        }
        holds.put(request.name(), new Hold(handle, request.lease().orElse(null)));
    }

    void enter(Hold hold) {
        hold.depth++;
    }

    /** Leaves a hold, and returns whether that was its outermost acquisition. The hold is then forgotten. */
    boolean leave(Hold hold) {
        hold.depth--;
        if (hold.depth > 0) {
            return false;
        }
        Map<String, Hold> holds = ofThread.get();
        holds.remove(hold.handle.name());
        if (holds.isEmpty()) {
            // A thread of a pool lives longer than the registry.
            ofThread.remove();
        }
        return true;
    }
}
