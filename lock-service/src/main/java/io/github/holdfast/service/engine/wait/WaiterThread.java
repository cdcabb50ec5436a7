package io.github.holdfast.service.engine.wait;

import io.github.holdfast.repository.StoreException;
import io.github.holdfast.service.engine.runtime.Background;
import io.github.holdfast.service.engine.runtime.LogEvent;
import java.time.Duration;
import java.util.concurrent.LinkedBlockingQueue;
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
        thread = new ThreadPoolExecutor(
                1,
                1,
                IDLE.toMillis(),
                TimeUnit.MILLISECONDS,
                new LinkedBlockingQueue<>(),
                Background.threads(name),
                new ThreadPoolExecutor.DiscardPolicy());
        thread.allowCoreThreadTimeOut(true);
    }

    /** Does the work soon, unless the service is closed. */
    void execute(Runnable work) {
        thread.execute(() -> {
            try {
                work.run();
            } catch (StoreException failed) {
                LOG.debug("A waiter was not woken", failed);
            } catch (RuntimeException | Error failed) {
                LogEvent.INTERNAL_FAILED.in(LOG.atWarn()).setCause(failed).log("A waiter was not woken");
            }
        });
    }

    /** As {@link #execute}, unless there is too much work. For what nothing relies on. */
    public void hint(Runnable work) {
        if (thread.getQueue().size() < MOST_HINTS) {
            execute(work);
        }
    }

    boolean isClosed() {
        return thread.isShutdown();
    }

    /** Finishes the work, if the database answers soon. */
    @Override
    public void close() {
        thread.shutdown();
        try {
            boolean unused = thread.awaitTermination(CLOSE_LIMIT.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
