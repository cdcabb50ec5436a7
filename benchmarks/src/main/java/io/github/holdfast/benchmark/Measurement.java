package io.github.holdfast.benchmark;

/**
 * What a load came to.
 *
 * @param perSecond acquisitions, each with its release
 * @param handOversPerSecond acquisitions by another thread than the one before
 * @param medianWait of an acquisition, in milliseconds
 * @param longWait which one of a hundred acquisitions exceeded, in milliseconds
 */
record Measurement(double perSecond, double handOversPerSecond, double medianWait, double longWait) {}
