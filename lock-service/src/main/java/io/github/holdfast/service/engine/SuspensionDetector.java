package io.github.holdfast.service.engine;

import java.time.Duration;

/**
 * Detects that the machine was suspended. On most systems, the monotonic clock stands still during a suspension, but the wall
 * clock does not. (For Linux, see CLOCK_MONOTONIC in https://man7.org/linux/man-pages/man2/clock_gettime.2.html.) So a lease may
 * be over although the monotonic clock does not show it. A detection is only a hint: a change of the wall clock looks the same.
 * Not thread-safe.
 */
final class SuspensionDetector {

    /** How often to check while there are holds. */
    static final Duration LOOK = Duration.ofSeconds(1);

    /** The shortest suspension that is detected. No clock is slewed by that much between two checks. */
    private static final Duration SHORTEST = Duration.ofSeconds(1);

    private final Ticker ticker;
    private long difference;

    /** A detector that does not know earlier suspensions. */
    SuspensionDetector(Ticker ticker) {
        this.ticker = ticker;
        this.difference = difference();
    }

    private long difference() {
        return ticker.wallNanos() - ticker.nanoTime();
    }

    /** Whether the two clocks have diverged since the last call. */
    boolean detect() {
        long before = difference;
        difference = difference();
        return Math.abs(difference - before) > SHORTEST.toNanos();
    }
}
