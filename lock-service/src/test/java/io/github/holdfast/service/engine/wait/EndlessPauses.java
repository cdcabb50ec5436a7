package io.github.holdfast.service.engine.wait;

import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.runtime.Ticker;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Local time as it is, but whoever is to pause for longer than between two polls does so until it is woken, if ever; for that
 * thread no time passes meanwhile. So does the poller.
 */
final class EndlessPauses implements Ticker {

    private static final Duration LONGEST_POLL = Deadline.LONGEST_PAUSE.plusMillis(10);

    private final AtomicInteger waiters = new AtomicInteger();
    private final AtomicInteger pollers = new AtomicInteger();
    private final ThreadLocal<Long> paused = ThreadLocal.withInitial(() -> 0L);

    /**
     * How many waiting threads are in a pause from which only a wake-up gets them. It is none while the poller looks for them, which
     * it does until the service listens. So use one instance for one service.
     */
    int pausing() {
        return pollers.get() > 0 ? waiters.get() : 0;
    }

    /** Whether the poller is in a pause from which only a wake-up gets it. */
    boolean isPollerPausing() {
        return pollers.get() > 0;
    }

    @Override
    public long nanoTime() {
        return System.nanoTime() - paused.get();
    }

    @Override
    public void park(Object blocker, long nanos) {
        AtomicInteger pausing =
                blocker instanceof Deadline ? waiters : blocker instanceof WaiterPoller ? pollers : null;
        if (pausing == null || nanos <= LONGEST_POLL.toNanos()) {
            LockSupport.parkNanos(blocker, nanos);
            return;
        }
        long start = System.nanoTime();
        pausing.incrementAndGet();
        LockSupport.park(blocker);
        pausing.decrementAndGet();
        paused.set(paused.get() + System.nanoTime() - start);
    }
}
