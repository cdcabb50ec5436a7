package io.github.holdfast.service;

import java.util.Collection;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Has holders told on time that their lock is suspect or lost, by a thread that never waits for the database or for a
 * user's code: whatever hangs there cannot hide a loss. It sleeps until the earliest hold is due, and while there are holds for a
 * second at the most, to notice that the machine was suspended. Thread-safe.
 */
final class LossWatch implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(LossWatch.class);

    private final Collection<Hold> holds;
    private final Ticker ticker;
    private final Runnable recheck;
    private final Object starting = new Object();
    private volatile @Nullable Thread thread;
    private volatile long wakeAt;
    private volatile boolean closed;

    /**
     * A watch over these holds, which change.
     *
     * @param ticker tells when
     * @param recheck asks the database after all of them; quick
     */
    LossWatch(Collection<Hold> holds, Ticker ticker, Runnable recheck) {
        this.holds = holds;
        this.ticker = ticker;
        this.recheck = recheck;
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
        Suspension suspension = new Suspension(ticker);
        boolean isWatching = false;
        while (!closed) {
            // Asked each time: what was before there were holds does not count.
            if (suspension.isNoticed() && isWatching) {
                recheck();
            }
            long next = look();
            isWatching = next != Long.MAX_VALUE;
            long due = ticker.nanoTime() + Math.min(next, Long.MAX_VALUE / 2);
            wakeAt = due;
            // A hold that came before this was written is seen here; one that comes later sees it, and wakes the
            // thread.
            long nanos = Math.min(look(), due - ticker.nanoTime());
            if (nanos > 0) {
                ticker.park(this, nanos);
            }
        }
    }

    private void recheck() {
        LogEvent.CLOCKS_PARTED
                .in(LOG.atInfo())
                .log(
                        "The machine was suspended, or its clock was set: the database is asked after all locks that are held");
        try {
            recheck.run();
        } catch (RuntimeException | Error failed) {
            LogEvent.INTERNAL_FAILED
                    .in(LOG.atError())
                    .setCause(failed)
                    .log("The database was not asked after the locks that are held");
        }
    }

    /** Looks at every hold; returns after how many nanoseconds to look again. */
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
        return next == Long.MAX_VALUE ? next : Math.min(next, Suspension.LOOK.toNanos());
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
