package io.github.holdfast.service.engine;

import java.time.Duration;

/**
 * The timing of a node: when it beats, and when it counts as dead.
 *
 * @param lease how long the node lives without a beat, by the database's clock
 * @param suspectAfter how long after the last beat the next one is overdue
 * @param period how long after a beat the next one is due
 */
record NodeTiming(Duration lease, Duration suspectAfter, Duration period) {

    static final Duration SHORTEST_LEASE = Duration.ofSeconds(1);
    static final Duration LONGEST_LEASE = Duration.ofDays(1);

    NodeTiming {
        if (lease.compareTo(suspectAfter) <= 0 || suspectAfter.compareTo(period) <= 0 || period.isNegative()) {
            throw new IllegalArgumentException(
                    "The node lease (" + lease + ") must be longer than the time until a heartbeat is overdue ("
                            + suspectAfter + "), and that time longer than the heartbeat's period (" + period + ")");
        }
    }

    /**
     * The timing for this lease: two beats may fail before the lease is over.
     *
     * @throws IllegalArgumentException if the lease is shorter than 1 second or longer than a day
     */
    static NodeTiming ofLease(Duration lease) {
        if (lease.compareTo(SHORTEST_LEASE) < 0 || lease.compareTo(LONGEST_LEASE) > 0) {
            throw new IllegalArgumentException("The lease of the node must be from " + SHORTEST_LEASE + " to "
                    + LONGEST_LEASE + ", but is " + lease);
        }
        return new NodeTiming(lease, lease.multipliedBy(2).dividedBy(3), lease.dividedBy(3));
    }

    /** How often to check whether a beat is due, or a failed beat must be repeated. */
    Duration tick() {
        return period.dividedBy(10);
    }
}
