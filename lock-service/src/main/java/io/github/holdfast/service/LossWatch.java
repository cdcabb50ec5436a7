package io.github.holdfast.service;

import java.util.Collection;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Has holders told on time that their lock is suspect or lost, by a thread that never waits for the database or for a
 * user's code: whatever hangs there cannot hide a loss. It sleeps until the earliest hold is due. Thread-safe.
 */
final class LossWatch implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(LossWatch.class);

    private final Collection<Hold> holds;
    private final Ticker ticker;
    private final Object starting = new Object();
    private volatile @Nullable Thread thread;
    private volatile long wakeAt;
    private volatile boolean closed;

    /**
     * A watch over these holds, which change.
     *
     * @param ticker tells when
     */
    LossWatch(Collection<Hold> holds, Ticker ticker) {
        this.holds = holds;
        this.ticker = ticker;
    }

    /** Watches over a hold that was just added. */
    void expect(Hold hold) {
        long due = ticker.nanoTime() + Math.min(hold.lifetime().look(), Long.MAX_VALUE / 2);
        Thread running = thread;
        if (running == null) {
            start(due);
        } else if (due - wakeAt < 0) {
            LockSupport.unpark(running);
        }
    }

    private void start(long due) {
        synchronized (starting) {
            if (thread == null && !closed) {
                wakeAt = due;
                Thread watch = Daemons.named("holdfast-watch").newThread(this::run);
                thread = watch;
                watch.start();
            } else if (thread != null) {
                LockSupport.unpark(thread);
            }
        }
    }

    private void run() {
        while (!closed) {
            long due = ticker.nanoTime() + Math.min(look(), Long.MAX_VALUE / 2);
            wakeAt = due;
            // A hold that came before this was written is seen here; one that comes later sees it, and wakes the
            // thread.
            long nanos = Math.min(look(), due - ticker.nanoTime());
            if (nanos > 0) {
                ticker.park(this, nanos);
            }
        }
    }

    /** Looks at every hold; returns after how many nanoseconds the next one is due. */
    private long look() {
        long next = Long.MAX_VALUE;
        for (Hold hold : holds) {
            try {
                next = Math.min(next, hold.lifetime().look());
            } catch (RuntimeException | Error failed) {
                LogEvent.INTERNAL_FAILED
                        .of(hold.name(), LOG.atError())
                        .setCause(failed)
                        .log("Lock '{}' could not be looked at", hold.name());
            }
        }
        return next;
    }

    @Override
    public void close() {
        closed = true;
        Thread running = thread;
        if (running != null) {
            LockSupport.unpark(running);
        }
    }
}
