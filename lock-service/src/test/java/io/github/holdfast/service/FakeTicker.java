package io.github.holdfast.service;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/** Local time that passes only when a test lets it. */
final class FakeTicker implements Ticker {

    private volatile long now = 1_000_000;
    private volatile long suspended;

    synchronized void advance(Duration duration) {
        now = now + duration.toNanos();
    }

    /** The machine is suspended: the wall clock goes on, this one does not. Back, if the wall clock is set back. */
    synchronized void suspend(Duration duration) {
        suspended = suspended + duration.toNanos();
    }

    @Override
    public long nanoTime() {
        return now;
    }

    @Override
    public long wallNanos() {
        return now + suspended;
    }

    /** Looks at the time that the test has set again and again. */
    @Override
    public void park(Object blocker, long nanos) {
        LockSupport.parkNanos(blocker, 1_000_000);
    }

    /** A service's insides for tests in which nothing is read or written. */
    @SuppressWarnings("NullAway")
    Internals internalsWithoutStore(LockListener... listeners) {
        ServiceSettings settings = new ServiceSettings(
                "",
                NodeTiming.DEFAULT,
                Duration.ZERO,
                Duration.ZERO,
                List.of(listeners),
                null,
                Duration.ofDays(7),
                1,
                ServiceSettings.Writers.AS_THE_DATABASE_ALLOWS,
                ServiceSettings.WakeUp.BY_POLLING,
                this);
        return Internals.of(null, new OverdueStatements(this), null, settings, "test");
    }
}
