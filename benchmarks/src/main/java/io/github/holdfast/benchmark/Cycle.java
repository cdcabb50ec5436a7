package io.github.holdfast.benchmark;

/**
 * What an uncontended acquisition and release of a known name cost together.
 *
 * @param roundTrips how often the client waits for the server
 * @param allocatedBytes what the calling thread allocates, the driver's and the pool's part included
 */
record Cycle(double roundTrips, double allocatedBytes) {}
