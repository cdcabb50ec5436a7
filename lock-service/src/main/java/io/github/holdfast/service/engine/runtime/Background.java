package io.github.holdfast.service.engine.runtime;

import java.util.concurrent.ThreadFactory;

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
}
