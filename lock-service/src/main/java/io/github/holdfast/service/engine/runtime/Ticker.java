package io.github.holdfast.service.engine.runtime;

import java.time.Duration;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The local clocks, for durations only: the database decides whether a lease has expired. Also the thread of the work that the engine does
 * at intervals of these clocks.
 */
public interface Ticker {

    /** The process's monotonic clock, and the machine's wall clock. */
    Ticker SYSTEM = new Ticker() {
        @Override
        public long nanoTime() {
            return System.nanoTime();
        }

        @Override
        public long wallNanos() {
            return TimeUnit.MILLISECONDS.toNanos(System.currentTimeMillis());
        }

        @Override
        public void park(Object blocker, long nanos) {
            LockSupport.parkNanos(blocker, nanos);
        }
    };

    /** What part of a lease is the margin for the drift of the clocks. */
    long MARGIN_PARTS = 1000;

    /** As {@link System#nanoTime()}. */
    long nanoTime();

    /**
     * The wall clock. Its progress is compared with that of {@link #nanoTime()}, to detect a suspension of the machine. Its time
     * decides nothing.
     */
    default long wallNanos() {
        return nanoTime();
    }

    /** Whether this clock runs at the rate of the database's. That of a test may stand still while the database's goes on. */
    default boolean keepsPace() {
        return true;
    }

    /** As {@link LockSupport#parkNanos(Object, long)}; may return early. */
    void park(Object blocker, long nanos);

    /** Returns a new thread for work at intervals. It does not keep the JVM alive. A test returns one that it drives step by step. */
    default ScheduledExecutorService scheduler(String threadName) {
        return new ScheduledThreadPoolExecutor(1, Background.threads(threadName));
    }

    /**
     * The local time at which a lease of this length ends, counted from the given local time. A margin of one thousandth of the lease covers
     * the drift between the local clock and the database's. NTP slews each of these two clocks by up to 500 ppm
     * (https://www.rfc-editor.org/rfc/rfc5905, section 12).
     */
    static long endOfLease(long from, Duration lease) {
        return from + lease.toNanos() - lease.toNanos() / MARGIN_PARTS;
    }

    /** A lease that covers the wanted time by the local clock, plus the time for its write; at least the usual lease. */
    static Duration leaseFor(Duration wanted, Duration usual) {
        Duration generous = wanted.plus(wanted.dividedBy(MARGIN_PARTS / 2)).plusSeconds(1);
        return generous.compareTo(usual) > 0 ? generous : usual;
    }
}
