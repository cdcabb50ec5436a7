package io.github.holdfast.service.engine.runtime;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.UnaryOperator;

/** A local clock that can be set forward. */
public final class JumpingTicker implements Ticker {

    private volatile long ahead;

    /** Sets the clock forward. */
    public synchronized void jump(Duration time) {
        ahead = ahead + time.toNanos();
    }

    /** Gives this clock to a service. */
    public UnaryOperator<ServiceSettings> inSettings() {
        return settings -> settings.withTicker(this);
    }

    @Override
    public long nanoTime() {
        return System.nanoTime() + ahead;
    }

    @Override
    public boolean keepsPace() {
        return false;
    }

    @Override
    public void park(Object blocker, long nanos) {
        LockSupport.parkNanos(blocker, nanos);
    }
}
