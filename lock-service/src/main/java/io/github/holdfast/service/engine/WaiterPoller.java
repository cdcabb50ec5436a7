package io.github.holdfast.service.engine;

import io.github.holdfast.repository.LockStore;
import io.github.holdfast.repository.LockTables.WaiterRows;
import io.github.holdfast.repository.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Polls the database for all waiting threads of this service. One statement looks at many locks, and finds those that may be
 * available. Only the waiters of those locks then attempt. So waiting uses one connection, and the number of statements does not
 * grow with the number of threads. Thread-safe.
 */
final class WaiterPoller implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(WaiterPoller.class);

    /** A look is short, but the machine of the database may be busy. */
    private static final Duration LIMIT = Duration.ofSeconds(10);

    private final WaiterRegistry waiters;
    private final BooleanSupplier isWokenByOthers;
    private final LockStore store;
    private final LocalQueue queue;
    private final Duration tolerance;
    private final Ticker ticker;
    private final WaiterThread thread = new WaiterThread("holdfast-poller");
    private final AtomicBoolean isRunning = new AtomicBoolean();
    private volatile boolean isHurried;
    private volatile boolean isClosed;

    /** The thread that polls; null if none does. */
    private volatile @Nullable Thread polling;

    /** The names that this round has not looked at yet. */
    private Iterator<String> round = List.<String>of().iterator();

    /** How many looks this round takes. */
    private int looks = 1;

    /**
     * Creates a poller, which does nothing until it is {@linkplain #start started}.
     *
     * @param isWokenByOthers keeps the waiters announced, and returns whether other nodes wake them, so that looks may be rare
     * @param tolerance the time that must pass between the end of a lease and a takeover
     */
    WaiterPoller(
            WaiterRegistry waiters,
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

    /** Polls from now on, as long as threads wait. */
    void start() {
        if (!isRunning.getAndSet(true)) {
            try {
                thread.execute(this::run);
            } catch (Error noThread) {
                isRunning.set(false);
                throw noThread;
            }
        }
    }

    /** Looks soon: other nodes no longer wake the waiters. */
    void hurry() {
        isHurried = true;
        LockSupport.unpark(polling);
    }

    private void run() {
        polling = Thread.currentThread();
        do {
            while (isNeeded()) {
                try {
                    pause(isWokenByOthers.getAsBoolean());
                    look();
                } catch (RuntimeException | Error failed) {
                    LogEvent.INTERNAL_FAILED
                            .in(LOG.atWarn())
                            .setCause(failed)
                            .log("Could not look for the locks of waiting threads");
                }
            }
            isRunning.set(false);
            // A thread that came in between has seen that this one runs.
        } while (isNeeded() && !isRunning.getAndSet(true));
    }

    private boolean isNeeded() {
        return !waiters.isEmpty() && !isClosed;
    }

    /** Pauses before the next look. If other nodes wake the waiters, each lock gets a look in about a second. */
    private void pause(boolean isRare) {
        Duration perLook = WaiterNotifier.LONGEST_PAUSE.dividedBy(looks);
        long nanos = isRare && perLook.compareTo(Deadline.LONGEST_PAUSE) > 0
                ? perLook.toNanos()
                : Deadline.jittered(Deadline.LONGEST_PAUSE);
        long until = ticker.nanoTime() + nanos;
        for (long left = nanos; left > 0 && !isHurried && isNeeded(); left = until - ticker.nanoTime()) {
            ticker.park(this, left);
        }
        isHurried = false;
    }

    /** Looks at the next locks, with one statement. */
    private void look() {
        List<String> names = next();
        if (names.isEmpty()) {
            return;
        }
        try {
            List<String> available = store.waiters(LIMIT).available(names, tolerance);
            names.forEach(name -> queue.asked(name, null));
            available.forEach(waiters::wake);
        } catch (StoreException failed) {
            LOG.debug("Could not look for the locks of waiting threads", failed);
            if (!failed.failure().isUndecided()) {
                names.forEach(name -> queue.asked(name, failed));
            }
        }
    }

    private List<String> next() {
        if (!round.hasNext()) {
            List<String> names = waiters.names();
            looks = Math.max(1, (names.size() - 1) / WaiterRows.MOST_NAMES + 1);
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
