package io.github.holdfast.service.engine;

import java.time.Duration;

/**
 * Computes the end of a lease by the local clock. A margin of one thousandth of the lease covers the drift between the local
 * clock and the database's. NTP slews each of these two clocks by up to 500 ppm (https://www.rfc-editor.org/rfc/rfc5905, section
 * 12).
 */
final class ClockDriftMargin {

    private static final long PARTS = 1000;

    private ClockDriftMargin() {}

    /** The local time at which a lease of this length ends, counted from the given local time. */
    static long end(long from, Duration lease) {
        return from + lease.toNanos() - lease.toNanos() / PARTS;
    }

    /** A lease that covers the wanted time by the local clock, plus the time for its write; at least the usual lease. */
    static Duration leaseFor(Duration wanted, Duration usual) {
        Duration generous = wanted.plus(wanted.dividedBy(PARTS / 2)).plusSeconds(1);
        return generous.compareTo(usual) > 0 ? generous : usual;
    }
}
