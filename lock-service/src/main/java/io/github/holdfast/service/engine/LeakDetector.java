package io.github.holdfast.service.engine;

import java.time.Duration;
import java.util.Collection;
import org.jspecify.annotations.Nullable;

/**
 * Warns once of each lock that is held longer than a threshold, and of each whose handles were dropped without a release. Row locks
 * outside transactions keep a connection, and the pool's own leak detection reports them. Thread-safe.
 */
final class LeakDetector {

    private final @Nullable Duration threshold;

    /**
     * A detector.
     *
     * @param threshold how long locks may be held without a warning; null for any time
     */
    LeakDetector(@Nullable Duration threshold) {
        this.threshold = threshold;
    }

    /** Remembers the stack of the calling thread, which has just acquired this hold, if there is a threshold. */
    void acquired(LeaseHold hold) {
        if (threshold != null) {
            String thread = Thread.currentThread().getName();
            hold.acquired(new Throwable("Acquired by thread " + thread));
        }
    }

    /** Reports the hold if it leaks. */
    void look(LeaseHold hold) {
        if (hold.isDropped() && hold.reportDrop()) {
            report(
                    hold,
                    "Lock '{}' of thread {} was acquired {} ago, and its handle was dropped without a release: it stays held"
                            + " until its lease or this service ends. Release it, or detach() its handle to keep it");
        } else if (isLong(hold) && hold.reportLong()) {
            report(hold, "Lock '{}' of thread {} has been held for {}, longer than the leak detection allows");
        }
    }

    private static void report(LeaseHold hold, String message) {
        LockLog.leaked(message, hold.grant(), hold.acquiredBy(), hold.heldFor(), hold.acquisition());
    }

    private boolean isLong(LeaseHold hold) {
        Duration most = threshold;
        return most != null && hold.isOpen() && !hold.isLost() && hold.heldFor().compareTo(most) >= 0;
    }

    /** Returns how many of these holds were dropped. */
    static int dropped(Collection<LeaseHold> holds) {
        return (int) holds.stream().filter(LeaseHold::isDropped).count();
    }
}
