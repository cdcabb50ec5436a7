package io.github.holdfast.service;

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
 * Tells the log and users what happens to their locks. What they do with it can neither fail nor delay a lock: errors are logged, and
 * what the service itself has to tell is told by a thread of its own. Thread-safe.
 */
final class Events implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Events.class);

    private final List<LockListener> listeners;
    private final boolean areBeatsHeard;
    private final ThreadPoolExecutor thread;

    Events(List<LockListener> listeners) {
        this.listeners =
                Stream.concat(Stream.of(new LockLog()), listeners.stream()).toList();
        areBeatsHeard = !listeners.isEmpty();
        thread = new ThreadPoolExecutor(
                1, 1, 10, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), Daemons.named("holdfast-events"));
        thread.allowCoreThreadTimeOut(true);
    }

    /** Has an acquisition told from its beginning to its end, on this thread. */
    Acquired acquisition(LockRequest request, Patience patience, Patience.Work<Acquired> acquisition)
            throws InterruptedException {
        tell(listener -> listener.acquiring(request));
        try {
            return acquisition.within(patience);
        } catch (LockStoreException | LockLostException | LockDeadlockException | InterruptedException failed) {
            tell(listener -> listener.failed(request.name(), patience.elapsed(), failed));
            throw failed;
        } finally {
            tell(listener -> listener.acquisitionEnded(request));
        }
    }

    /** Tells how an acquisition ended. */
    void acquired(String lockName, Optional<Long> fencingToken, Duration waited) {
        fencingToken.ifPresentOrElse(
                token -> tell(listener -> listener.acquired(lockName, token, waited)),
                () -> tell(listener -> listener.refused(lockName, waited)));
    }

    /** Tells every listener, on this thread. */
    void tell(Consumer<LockListener> event) {
        for (LockListener listener : listeners) {
            tell(event, listener);
        }
    }

    /** Tells every listener, on the thread of the events. */
    void tellLater(Consumer<LockListener> event) {
        later(() -> tell(event));
    }

    /** Tells of a heartbeat, later too. Not logged: without other listeners no thread is woken for it. */
    void beaten(Duration took) {
        if (areBeatsHeard) {
            tellLater(listener -> listener.beaten(took));
        }
    }

    /** Runs a handler on the thread of the events. */
    void tellLater(LockLost loss, Consumer<LockLost> handler) {
        later(() -> tell(handler, loss));
    }

    private void later(Runnable event) {
        try {
            thread.execute(event);
        } catch (RejectedExecutionException closed) {
            LOG.debug("An event came after the lock service was closed");
        }
    }

    private static <T> void tell(Consumer<T> receiver, T told) {
        try {
            receiver.accept(told);
        } catch (RuntimeException | Error failed) {
            LogEvent.LISTENER_FAILED.in(LOG.atError()).setCause(failed).log("A listener of locks failed");
        }
    }

    /** Tells what is still to be told, and stops. */
    @Override
    public void close() {
        thread.shutdown();
    }
}
