package io.github.holdfast.service;

import java.util.concurrent.locks.LockSupport;

/** The local passage of time, for durations only: which lease is over is the database's to say. */
interface Ticker {

    /** The process's monotonic clock. */
    Ticker SYSTEM = new Ticker() {
        @Override
        public long nanoTime() {
            return System.nanoTime();
        }

        @Override
        public void park(Object blocker, long nanos) {
            LockSupport.parkNanos(blocker, nanos);
        }
    };

    /** As {@link System#nanoTime()}. */
    long nanoTime();

    /** As {@link LockSupport#parkNanos(Object, long)}; may return early. */
    void park(Object blocker, long nanos);
}
