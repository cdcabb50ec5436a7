package io.github.holdfast.benchmark;

import java.time.Duration;

/**
 * What a load came to.
 *
 * @param perSecond acquisitions, each with its release
 * @param handOversPerSecond acquisitions by another thread than the one before
 * @param medianWait of an acquisition, in milliseconds
 * @param longWait which one of a hundred acquisitions exceeded, in milliseconds
 */
record Measurement(double perSecond, double handOversPerSecond, double medianWait, double longWait) {

    /** The figures of these waits in this time. */
    static Measurement of(Latencies waits, long handOvers, Duration time) {
        double seconds = time.toNanos() / 1e9;
        return new Measurement(waits.count() / seconds, handOvers / seconds, waits.quantile(0.5), waits.quantile(0.99));
    }
}
