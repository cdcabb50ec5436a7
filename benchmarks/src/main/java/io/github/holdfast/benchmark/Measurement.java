package io.github.holdfast.benchmark;

import io.github.holdfast.benchmark.contestant.Latencies;
import java.time.Duration;

/**
 * The results of a load.
 *
 * @param perSecond acquisitions with their releases, per second
 * @param handOversPerSecond acquisitions by a thread other than the previous holder, per second
 * @param medianWait the median wait of an acquisition, in milliseconds
 * @param longWait the wait that one of a hundred acquisitions exceeds, in milliseconds
 */
record Measurement(double perSecond, double handOversPerSecond, double medianWait, double longWait) {

    /** Computes the results from the waits and the duration. */
    static Measurement of(Latencies waits, long handOvers, Duration time) {
        double seconds = time.toNanos() / 1e9;
        return new Measurement(waits.count() / seconds, handOvers / seconds, waits.quantile(0.5), waits.quantile(0.99));
    }
}
