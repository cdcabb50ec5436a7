package io.github.holdfast.benchmark;

/**
 * The costs of one uncontended acquisition and release of a known name.
 *
 * @param roundTrips how often the client waits for the server
 * @param allocatedBytes how many bytes the calling thread allocates, including those of the driver and the pool
 */
record Cycle(double roundTrips, double allocatedBytes) {}
