package io.github.holdfast.service;

import java.time.Duration;

/**
 * The local end of a lease: one thousandth before the database's. NTP corrects a clock by slewing it up to 500 ppm
 * (https://www.rfc-editor.org/rfc/rfc5905, section 12), and there are two clocks.
 */
final class Drift {

    private static final long PARTS = 1000;

    private Drift() {}

    /** When a lease that lasts so long from then on is over, by the local clock. */
    static long end(long from, Duration lease) {
        return from + lease.toNanos() - lease.toNanos() / PARTS;
    }

    /** A lease that lasts so long by the local clock, and the time that it takes to write it; but not less than the usual one. */
    static Duration leaseFor(Duration wanted, Duration usual) {
        Duration generous = wanted.plus(wanted.dividedBy(PARTS / 2)).plusSeconds(1);
        return generous.compareTo(usual) > 0 ? generous : usual;
    }
}
