package io.github.holdfast.service;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** The local passage of time, for durations only: which lease is over is the database's to say. */
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
     * The wall clock. By how much it moves is compared with {@link #nanoTime()}, to notice that the machine was suspended; what it
     * shows decides nothing.
     */
    default long wallNanos() {
        return nanoTime();
    }

    /** As {@link LockSupport#parkNanos(Object, long)}; may return early. */
    void park(Object blocker, long nanos);
}
