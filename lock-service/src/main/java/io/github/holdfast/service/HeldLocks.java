package io.github.holdfast.service;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** The holds of one service, and which thread re-enters which. Thread-safe. */
final class HeldLocks {

    /** Holds that were never released are swept out when there are twice as many holds as after the last sweep. */
    private static final int FIRST_SWEEP = 1024;

    private record ThreadAndName(Thread thread, String name) {}

    private final Map<ThreadAndName, Hold> byThread = new ConcurrentHashMap<>();
    private final Set<Hold> holds = ConcurrentHashMap.newKeySet();
    private volatile int sweepAt = FIRST_SWEEP;
    private volatile boolean closed;

    /**
     * Keeps a hold until it ends.
     *
     * @param thread whose nested acquisitions re-enter it; null if none do
     * @throws IllegalStateException if the service is closed
     */
    void add(Hold hold, @Nullable Thread thread) {
        holds.add(hold);
        if (thread != null) {
            hold.bindTo(thread);
            byThread.put(new ThreadAndName(thread, hold.name()), hold);
        }
        if (holds.size() > sweepAt) {
            holds.stream().filter(Hold::isLost).forEach(this::remove);
            sweepAt = Math.max(FIRST_SWEEP, 2 * holds.size());
        }
        // After the hold is in: whoever closes the service either sees the hold, or this sees that it is closed.
        checkOpen();
    }

    /** Returns the hold of this lock that the current thread re-enters; it may be lost. */
    Optional<Hold> ofCurrentThread(String name) {
        return Optional.ofNullable(byThread.get(new ThreadAndName(Thread.currentThread(), name)));
    }

    /** Lets the thread that acquired the hold no longer re-enter it. */
    void unbind(Hold hold) {
        Thread thread = hold.boundTo();
        if (thread != null) {
            byThread.remove(new ThreadAndName(thread, hold.name()), hold);
        }
    }

    void remove(Hold hold) {
        holds.remove(hold);
        unbind(hold);
    }

    int size() {
        return holds.size();
    }

    void checkOpen() {
        if (closed) {
            throw new IllegalStateException("The lock service is closed");
        }
    }

    /** Refuses further holds and returns those that there are. */
    List<Hold> close() {
        closed = true;
        return List.copyOf(holds);
    }
}
