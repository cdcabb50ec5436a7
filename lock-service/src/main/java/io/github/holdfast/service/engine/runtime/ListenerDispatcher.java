package io.github.holdfast.service.engine.runtime;

import io.github.holdfast.lock.LockListener;
import io.github.holdfast.lock.LockLost;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Notifies the log and the users' listeners of lock events. Errors of listeners are logged, and do not affect locks. Events from
 * the service's own threads are delivered on a separate thread, so that a slow listener does not delay the report of a loss.
 * Thread-safe.
 */
public final class ListenerDispatcher implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(ListenerDispatcher.class);

    private final List<LockListener> listeners;
    private final boolean areBeatsHeard;
    private final ThreadPoolExecutor thread;

    public ListenerDispatcher(List<LockListener> listeners) {
        this.listeners =
                Stream.concat(Stream.of(new LockLog()), listeners.stream()).toList();
        areBeatsHeard = !listeners.isEmpty();
        thread = new ThreadPoolExecutor(
                1, 1, 10, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), Background.threads("holdfast-events"));
        thread.allowCoreThreadTimeOut(true);
    }

    /** Notifies the listeners of the end of an acquisition. */
    public void acquired(String lockName, Optional<Long> fencingToken, Duration waited) {
        fencingToken.ifPresentOrElse(
                token -> tell(listener -> listener.acquired(lockName, token, waited)),
                () -> tell(listener -> listener.refused(lockName, waited)));
    }

    /** Notifies every listener, on this thread. */
    public void tell(Consumer<LockListener> event) {
        for (LockListener listener : listeners) {
            tell(event, listener);
        }
    }

    /** Notifies every listener, on the event thread. */
    public void dispatchLater(Consumer<LockListener> event) {
        later(() -> tell(event));
    }

    /**
     * Notifies the listeners of a heartbeat, on the event thread. The log ignores heartbeats, so no thread is woken if there are
     * no other listeners.
     */
    public void beaten(Duration took) {
        if (areBeatsHeard) {
            dispatchLater(listener -> listener.beaten(took));
        }
    }

    /** Runs a handler on the event thread. */
    public void dispatchLater(LockLost loss, Consumer<LockLost> handler) {
        later(() -> tell(handler, loss));
    }

    private void later(Runnable event) {
        try {
            thread.execute(event);
        } catch (RejectedExecutionException closed) {
            LOG.debug("An event was dropped: the lock service is closed");
        }
    }

    private static <T> void tell(Consumer<T> receiver, T told) {
        try {
            receiver.accept(told);
        } catch (RuntimeException | Error failed) {
            LogEvent.LISTENER_FAILED.in(LOG.atError()).setCause(failed).log("A lock listener or loss handler failed");
        }
    }

    /** Delivers the remaining events, and stops. */
    @Override
    public void close() {
        thread.shutdown();
    }
}
