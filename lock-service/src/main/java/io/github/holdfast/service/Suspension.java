package io.github.holdfast.service;

import java.time.Duration;

/**
 * Notices that the machine was suspended: on most systems the monotonic clock stands still meanwhile, so that leases are over before
 * it says so (on Linux, https://man7.org/linux/man-pages/man2/clock_gettime.2.html, CLOCK_MONOTONIC), and the wall clock does not. It
 * is a hint only: a wall clock that is set looks the same. Not thread-safe.
 */
final class Suspension {

    /** How often to look, while there is anything that depends on it. */
    static final Duration LOOK = Duration.ofSeconds(1);

    /** No clock is slewed by that much between two looks. */
    private static final Duration SHORTEST = Duration.ofSeconds(1);

    private final Ticker ticker;
    private long difference;

    /** Nothing is known of what was before. */
    Suspension(Ticker ticker) {
        this.ticker = ticker;
        this.difference = difference();
    }

    private long difference() {
        return ticker.wallNanos() - ticker.nanoTime();
    }

    /** Whether the two clocks have parted since this was last asked. */
    boolean isNoticed() {
        long before = difference;
        difference = difference();
        return Math.abs(difference - before) > SHORTEST.toNanos();
    }
}
