package io.github.holdfast.service.engine.wait;

import io.github.holdfast.repository.StoreException;
import io.github.holdfast.service.engine.runtime.Background;
import io.github.holdfast.service.engine.runtime.LogEvent;
import java.time.Duration;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A thread that works for waiters in the background: one wakes those of other nodes, and one polls. No call waits for it. It ends
 * when it has had nothing to do for a while. Thread-safe.
 */
public final class WaiterThread implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(WaiterThread.class);

    private static final Duration IDLE = Duration.ofSeconds(10);
    private static final Duration CLOSE_LIMIT = Duration.ofSeconds(3);

    /** No more hints wait than this: the database does not answer, or is far too slow. */
    private static final int MOST_HINTS = 1000;

    private final ThreadPoolExecutor thread;

    public WaiterThread(String name) {
        this(Background.threads(name));
    }

    WaiterThread(ThreadFactory threads) {
        thread = new ThreadPoolExecutor(
                1,
                1,
                IDLE.toMillis(),
                TimeUnit.MILLISECONDS,
                new LinkedBlockingQueue<>(),
                threads,
                new ThreadPoolExecutor.DiscardPolicy());
        thread.allowCoreThreadTimeOut(true);
    }

    /**
     * Does the work soon, unless the service is closed. If no thread can be started, the calling thread does it: it may just have been
     * granted a lock, and must not fail.
     */
    void execute(Runnable work) {
        try {
            start(work);
        } catch (OutOfMemoryError noThread) {
            LOG.debug("No thread could be started for a waiter", noThread);
            logged(work);
        }
    }

    /** Does the work soon, and only on its thread. Throws an {@link OutOfMemoryError} if that cannot be started. */
    void start(Runnable work) {
        thread.execute(() -> logged(work));
    }

    private static void logged(Runnable work) {
        try {
            work.run();
        } catch (StoreException failed) {
            LOG.debug("A waiter was not woken", failed);
        } catch (RuntimeException | Error failed) {
            LogEvent.INTERNAL_FAILED.in(LOG.atWarn()).setCause(failed).log("A waiter was not woken");
        }
    }

    /** As {@link #execute}, unless there is too much work, or no thread. For what nothing relies on. */
    public void hint(Runnable work) {
        if (thread.getQueue().size() < MOST_HINTS) {
            try {
                start(work);
            } catch (OutOfMemoryError noThread) {
                LOG.debug("No thread could be started for a hint", noThread);
            }
        }
    }

    boolean isClosed() {
        return thread.isShutdown();
    }

    /** Finishes the work, if the database answers soon. */
    @Override
    public void close() {
        thread.shutdown();
        boolean unused = Background.awaitEnd(thread, CLOSE_LIMIT);
    }
}
