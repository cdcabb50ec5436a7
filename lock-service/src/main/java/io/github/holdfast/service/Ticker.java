package io.github.holdfast.service;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** The local passage of time, for durations only: which lease is over is the database's to say. */
interface Ticker {

    /** The process's monotonic clock. */
    Ticker SYSTEM = new Ticker() {
        @Override
        public long nanoTime() {
            return System.nanoTime();
        }

        @Override
        public void sleep(Duration duration) throws InterruptedException {
            TimeUnit.NANOSECONDS.sleep(duration.toNanos());
        }
    };

    /** As {@link System#nanoTime()}. */
    long nanoTime();

    /** As {@link Thread#sleep(long)}. */
    void sleep(Duration duration) throws InterruptedException;
}
