package io.github.holdfast.service.engine.runtime;

import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/** Does work in the background. Exceptions of the work are logged. Thread-safe. */
public interface Background {

    /** Does the work soon. */
    void soon(Runnable work);

    /** As {@link #soon}, after a pause. */
    void later(Runnable work);

    /**
     * Creates the threads of the service, which do not keep the JVM alive. They live as long as the service, but often a thread
     * that serves a request starts them. So they inherit nothing from that thread: neither inheritable thread-locals (a tenant, a
     * user) nor the context class loader.
     */
    static ThreadFactory threads(String name) {
        return task -> {
            Thread thread = new Thread(null, task, name, 0, false);
            thread.setDaemon(true);
            thread.setContextClassLoader(Background.class.getClassLoader());
            return thread;
        };
    }

    /**
     * Waits until threads that were shut down have ended, but for this long at most since the last interrupt. Not interruptible: the
     * steps of a close that follow must not begin while their work is under way.
     *
     * @return whether they have ended
     */
    static boolean awaitEnd(ExecutorService threads, Duration atMost) {
        boolean wasInterrupted = false;
        try {
            while (true) {
                try {
                    return threads.awaitTermination(atMost.toNanos(), TimeUnit.NANOSECONDS);
                } catch (InterruptedException goesOn) {
                    wasInterrupted = true;
                }
            }
        } finally {
            if (wasInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
