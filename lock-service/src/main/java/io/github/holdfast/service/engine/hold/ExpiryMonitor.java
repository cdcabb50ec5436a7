package io.github.holdfast.service.engine.hold;

import io.github.holdfast.repository.StoreException;
import io.github.holdfast.service.engine.node.Heartbeat;
import io.github.holdfast.service.engine.runtime.Background;
import io.github.holdfast.service.engine.runtime.LockLog;
import io.github.holdfast.service.engine.runtime.LogEvent;
import io.github.holdfast.service.engine.runtime.SuspensionDetector;
import io.github.holdfast.service.engine.runtime.Ticker;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Queue;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reports suspect and lost holds on time. Its thread never waits for the database or for a user's code, so neither can delay a
 * report. It sleeps until the next hold becomes suspect or ends. While there are holds, it sleeps for a second at most, to detect
 * a suspension of the machine. Thread-safe.
 *
 * <p>Also warns once of each hold that leaks: it is held longer than a threshold, or its handles were dropped without a release. Row locks
 * outside transactions keep a connection, and the pool's own leak detection reports them.
 */
public final class ExpiryMonitor implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(ExpiryMonitor.class);

    private final Collection<LeaseHold> holds;
    private final Ticker ticker;
    private final Heartbeat heartbeat;
    private final Background background;
    private final @Nullable Duration leakThreshold;
    private final SuspensionDetector suspension;
    private final Object starting = new Object();
    private volatile @Nullable Thread thread;
    private volatile long wakeAt;

    /** Whether the thread sleeps because there are no holds. The next hold ends that. */
    private volatile boolean isIdle = true;

    private volatile boolean closed;

    /**
     * A monitor of these holds. The collection may change.
     *
     * @param ticker the local time
     * @param heartbeat keeps the holds without a lease
     * @param background does work on another thread
     * @param leakThreshold how long locks may be held without a warning; null for any time
     */
    public ExpiryMonitor(
            Collection<LeaseHold> holds,
            Ticker ticker,
            Heartbeat heartbeat,
            Background background,
            @Nullable Duration leakThreshold) {
        this.holds = holds;
        this.ticker = ticker;
        this.heartbeat = heartbeat;
        this.background = background;
        this.leakThreshold = leakThreshold;
        this.suspension = new SuspensionDetector(ticker);
    }

    /** Starts to monitor a hold that was just added. */
    public void expect(LeaseHold hold) {
        if (leakThreshold != null) {
            hold.acquired(
                    new Throwable("Acquired by thread " + Thread.currentThread().getName()));
        }
        long due = ticker.nanoTime() + Math.min(hold.lifetime().check(), Long.MAX_VALUE / 2);
        forgetWhileIdle();
        Thread running = thread;
        if (running == null) {
            start(due);
        } else if (due - wakeAt < 0) {
            LockSupport.unpark(running);
        }
    }

    /** If there were no holds, only a suspension from now on counts, even if the thread has not run yet. */
    private void forgetWhileIdle() {
        if (isIdle) {
            synchronized (starting) {
                if (isIdle) {
                    suspension.forget();
                    isIdle = false;
                }
            }
        }
    }

    private void start(long due) {
        synchronized (starting) {
            if (thread == null && !closed) {
                wakeAt = due;
                Thread watch = Background.threads("holdfast-expiry").newThread(this::run);
                thread = watch;
                watch.start();
            } else if (thread != null) {
                LockSupport.unpark(thread);
            }
        }
    }

    private void run() {
        while (!closed) {
            if (suspension.detect() && !holds.isEmpty()) {
                recheck();
            }
            long next = checkAll();
            long due = ticker.nanoTime() + Math.min(next, Long.MAX_VALUE / 2);
            isIdle = next == Long.MAX_VALUE;
            wakeAt = due;
            // The check below sees each hold added before these writes. A thread that adds one later reads the new
            // values, and wakes this thread.
            long again = checkAll();
            if (again != Long.MAX_VALUE) {
                isIdle = false;
            }
            long nanos = Math.min(again, due - ticker.nanoTime());
            if (nanos > 0) {
                ticker.park(this, nanos);
            }
        }
    }

    /**
     * Checks all holds in the database, because their leases may be over although the local clock does not show it. It checks leases one by
     * one. One heartbeat covers the other holds: it prolongs them, or finds that the node has expired. Returns before the database has
     * answered.
     */
    public void recheck() {
        LogEvent.CLOCKS_PARTED
                .in(LOG.atInfo())
                .log("The machine was suspended, or its clock was set: checking all held locks in the database");
        try {
            heartbeat.beatSoon();
            Queue<LeaseHold> leases =
                    holds.stream().filter(LeaseHold::isByLease).collect(Collectors.toCollection(ArrayDeque::new));
            background.soon(() -> recheck(leases));
        } catch (RuntimeException | Error failed) {
            LogEvent.INTERNAL_FAILED
                    .in(LOG.atError())
                    .setCause(failed)
                    .log("The held locks could not be checked in the database");
        }
    }

    /** Checks the leases until the database has answered for each. After a failure, it tries the same lease again later. */
    private void recheck(Queue<LeaseHold> leases) {
        for (LeaseHold hold = leases.peek(); hold != null; hold = leases.peek()) {
            try {
                hold.lifetime().recheckLease();
            } catch (StoreException failed) {
                background.later(() -> recheck(leases));
                return;
            }
            leases.remove();
        }
    }

    /** Checks every hold; returns the nanoseconds until the next check. */
    private long checkAll() {
        long next = Long.MAX_VALUE;
        for (LeaseHold hold : holds) {
            try {
                next = Math.min(next, hold.lifetime().check());
                warnOfLeak(hold);
            } catch (RuntimeException | Error failed) {
                LogEvent.INTERNAL_FAILED
                        .of(hold.name(), LOG.atError())
                        .setCause(failed)
                        .log("Lock '{}' could not be checked for expiry and leaks", hold.name());
            }
        }
        return next == Long.MAX_VALUE ? next : Math.min(next, SuspensionDetector.CHECK_PERIOD.toNanos());
    }

    private void warnOfLeak(LeaseHold hold) {
        if (hold.isDropped() && hold.reportDrop()) {
            warnOfLeak(
                    hold,
                    "Lock '{}' of thread {} was acquired {} ago, and its handle was dropped without a release: it stays held"
                            + " until its lease or this service ends. Release it, or detach() its handle to keep it");
        } else if (isHeldForLong(hold) && hold.reportLong()) {
            warnOfLeak(hold, "Lock '{}' of thread {} has been held for {}, longer than the leak detection allows");
        }
    }

    private static void warnOfLeak(LeaseHold hold, String message) {
        LockLog.leaked(message, hold.grant(), hold.acquiredBy(), hold.heldFor(), hold.acquisition());
    }

    private boolean isHeldForLong(LeaseHold hold) {
        Duration most = leakThreshold;
        return most != null && hold.isOpen() && !hold.isLost() && hold.heldFor().compareTo(most) >= 0;
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
