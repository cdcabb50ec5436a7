package io.github.holdfast.service.engine;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** The local clocks, for durations only: the database decides whether a lease is over. */
interface Ticker {

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

    /** As {@link System#nanoTime()}. */
    long nanoTime();

    /**
     * The wall clock. Its progress is compared with that of {@link #nanoTime()}, to detect a suspension of the machine. Its time
     * decides nothing.
     */
    default long wallNanos() {
        return nanoTime();
    }

    /** As {@link LockSupport#parkNanos(Object, long)}; may return early. */
    void park(Object blocker, long nanos);
}
