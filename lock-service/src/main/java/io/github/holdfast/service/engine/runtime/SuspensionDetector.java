package io.github.holdfast.service.engine.runtime;

import java.time.Duration;

/**
 * Detects that the machine was suspended. On most systems, the monotonic clock stands still during a suspension, but the wall
 * clock does not. (For Linux, see CLOCK_MONOTONIC in https://man7.org/linux/man-pages/man2/clock_gettime.2.html.) So a lease may
 * be over although the monotonic clock does not show it. A detection is only a hint: a change of the wall clock looks the same.
 * One thread detects. Any thread may forget; a detection at the same time may still see what is being forgotten.
 */
public final class SuspensionDetector {

    /** How often to check while there are holds. */
    public static final Duration CHECK_PERIOD = Duration.ofSeconds(1);

    /** The shortest suspension that is detected. No clock is slewed by that much between two checks. */
    private static final Duration SHORTEST = Duration.ofSeconds(1);

    private final Ticker ticker;
    private volatile long difference;

    /** A detector that does not know earlier suspensions. */
    public SuspensionDetector(Ticker ticker) {
        this.ticker = ticker;
        this.difference = difference();
    }

    /** From now on, earlier suspensions do not count. */
    public void forget() {
        difference = difference();
    }

    private long difference() {
        return difference(ticker);
    }

    /** The difference of the two clocks, for {@link #havePartedSince}. */
    public static long difference(Ticker ticker) {
        return ticker.wallNanos() - ticker.nanoTime();
    }

    /** Whether the two clocks have diverged since their difference was this. */
    public static boolean havePartedSince(Ticker ticker, long before) {
        return Math.abs(difference(ticker) - before) > SHORTEST.toNanos();
    }

    /** Whether the two clocks have diverged since the last call, or since what was forgotten. */
    public boolean detect() {
        return Math.abs(divergence()) > SHORTEST.toNanos();
    }

    /** Returns how many nanoseconds the machine was suspended since the last call, as far as the clocks show; 0 if it was not. */
    public long suspendedNanos() {
        long nanos = divergence();
        return nanos > SHORTEST.toNanos() ? nanos : 0;
    }

    private long divergence() {
        long before = difference;
        long now = difference();
        difference = now;
        return now - before;
    }
}
