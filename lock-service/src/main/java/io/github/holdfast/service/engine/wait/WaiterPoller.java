package io.github.holdfast.service.engine.wait;

import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.rows.WaiterRows;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.runtime.LogEvent;
import io.github.holdfast.service.engine.runtime.Ticker;
import io.github.holdfast.service.engine.wait.Waiter.Registry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Polls the database for all waiting threads of this service. One statement reads many locks, and finds those that may be
 * available. Only the waiters of those locks then attempt. So waiting uses one connection, and the number of statements does not
 * grow with the number of threads. Thread-safe.
 */
final class WaiterPoller implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(WaiterPoller.class);

    /** A poll is short, but the machine of the database may be busy. */
    private static final Duration LIMIT = Duration.ofSeconds(10);

    /** After a call has lasted this long, each waiter polls for itself: its connection may be dead, or the database slow. */
    private static final Duration LATE = Duration.ofSeconds(3);

    private final Registry waiters;
    private final BooleanSupplier isWokenByOthers;
    private final LockStore store;
    private final LocalQueue queue;
    private final Duration tolerance;
    private final Ticker ticker;
    private final WaiterThread thread = new WaiterThread("holdfast-poller");
    private final AtomicBoolean isRunning = new AtomicBoolean();
    private volatile boolean isHurried;
    private volatile boolean isClosed;

    /** Whether the poller waits for an answer of the database, and since when by the local clock. */
    private volatile boolean isBusy;

    private volatile long busySince;

    /** Whether a failure was reported since the last poll that succeeded. */
    private boolean isReported;

    /** The last thread that polled; null if none has. */
    private volatile @Nullable Thread polling;

    /** The names that this round has not polled yet. */
    private Iterator<String> round = List.<String>of().iterator();

    /** Whether this round has begun since others wake the waiters. */
    private boolean isRoundWoken;

    /** Whether the poller has polled all locks since others wake the waiters. An earlier release may have woken none. */
    private boolean hasPolledAll;

    /** How many statements this round takes. */
    private int pollsPerRound = 1;

    /**
     * Creates a poller, which does nothing until it is {@linkplain #start started}.
     *
     * @param isWokenByOthers keeps the waiters announced, and returns whether other nodes wake them, so that polls may be rare
     * @param tolerance the time that must pass between the end of a lease and a takeover
     */
    WaiterPoller(
            Registry waiters,
            BooleanSupplier isWokenByOthers,
            LockStore store,
            LocalQueue queue,
            Duration tolerance,
            Ticker ticker) {
        this.waiters = waiters;
        this.isWokenByOthers = isWokenByOthers;
        this.store = store;
        this.queue = queue;
        this.tolerance = tolerance;
        this.ticker = ticker;
    }

    /**
     * Polls from now on, as long as threads wait.
     *
     * @return false if the waiters cannot rely on it: there is no thread for it, or its last call has had no answer for long
     */
    boolean start() {
        if (!isRunning.getAndSet(true)) {
            try {
                thread.start(this::run);
            } catch (OutOfMemoryError noThread) {
                isRunning.set(false);
                report(noThread);
                return false;
            }
        }
        return !isLate();
    }

    /** Polls soon: other nodes no longer wake the waiters. */
    void hurry() {
        isHurried = true;
        LockSupport.unpark(polling);
    }

    private void run() {
        polling = Thread.currentThread();
        try {
            do {
                round = List.<String>of().iterator();
                while (isNeeded()) {
                    poll();
                }
                isRunning.set(false);
                // A thread that came in between has seen that this one runs.
            } while (isNeeded() && !isRunning.getAndSet(true));
        } catch (RuntimeException | Error failed) {
            isRunning.set(false);
            throw failed;
        }
    }

    /** Pauses, and polls. Whatever goes wrong, the next poll follows after a pause. */
    private void poll() {
        // A driver or pool may have left an interrupt, and would give no connection then.
        boolean unused = Thread.interrupted();
        try {
            busySince = ticker.nanoTime();
            isBusy = true;
            boolean isWoken = isWokenByOthers.getAsBoolean();
            isBusy = false;
            pause(isWoken && hasPolledAll);
            busySince = ticker.nanoTime();
            isBusy = true;
            isRoundWoken = isWoken && (isRoundWoken || !round.hasNext());
            pollNext();
            hasPolledAll = isWoken && (hasPolledAll || (isRoundWoken && !round.hasNext()));
            isReported = false;
        } catch (RuntimeException | Error failed) {
            report(failed);
            waiters.wakeAll();
            isBusy = false;
            park(Waiter.POLL_PERIOD.toNanos());
        } finally {
            isBusy = false;
        }
    }

    private void report(Throwable failed) {
        LOG.debug("Could not poll the locks of waiting threads", failed);
        if (!isReported) {
            isReported = true;
            LogEvent.INTERNAL_FAILED
                    .in(LOG.atWarn())
                    .setCause(failed)
                    .log("Could not poll the locks of waiting threads, so each thread polls its own");
        }
    }

    /** Whether a call of the poller has had no answer for long, so that waiters cannot rely on it. */
    boolean isLate() {
        return isBusy && ticker.nanoTime() - busySince > LATE.toNanos();
    }

    private boolean isNeeded() {
        return !waiters.isEmpty() && !isClosed;
    }

    /**
     * Pauses before the next poll. If other nodes wake the waiters, each lock is polled about once a second. Otherwise, the polls
     * of one round follow each other at once.
     */
    private void pause(boolean isRare) {
        if (!isRare && round.hasNext()) {
            return;
        }
        Duration perPoll = Waiter.POLL_PERIOD.dividedBy(pollsPerRound);
        park(
                isRare && perPoll.compareTo(Deadline.LONGEST_PAUSE) > 0
                        ? perPoll.toNanos()
                        : Deadline.jittered(Deadline.LONGEST_PAUSE));
    }

    private void park(long nanos) {
        long until = ticker.nanoTime() + nanos;
        for (long left = nanos; left > 0 && !isHurried && isNeeded(); left = until - ticker.nanoTime()) {
            ticker.park(this, left);
        }
        isHurried = false;
    }

    /**
     * Polls the next locks, with one statement. A lock that may be available gets an attempt, which shows more than a poll:
     * the database may refuse to write.
     *
     * @throws StoreException if the database failed, and an attempt would not fare better later
     */
    private void pollNext() {
        List<String> names = next();
        if (names.isEmpty()) {
            return;
        }
        try {
            Set<String> available = new HashSet<>(store.waiters(LIMIT).available(names, tolerance));
            names.stream().filter(name -> !available.contains(name)).forEach(name -> queue.recordAttempt(name, null));
            available.forEach(waiters::wake);
        } catch (StoreException failed) {
            if (!failed.failure().isTransient()) {
                throw failed;
            }
            LOG.debug("Could not poll the locks of waiting threads", failed);
            if (!failed.failure().isUndecided()) {
                names.forEach(name -> queue.recordAttempt(name, failed));
            }
        }
    }

    private List<String> next() {
        if (!round.hasNext()) {
            List<String> names = waiters.names();
            pollsPerRound = Math.max(1, (names.size() - 1) / WaiterRows.MOST_NAMES + 1);
            round = names.iterator();
        }
        List<String> next = new ArrayList<>();
        while (round.hasNext() && next.size() < WaiterRows.MOST_NAMES) {
            next.add(round.next());
        }
        return next;
    }

    /** Ends the thread. */
    @Override
    public void close() {
        isClosed = true;
        hurry();
        thread.close();
    }
}
