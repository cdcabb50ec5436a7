package io.github.holdfast.service.engine.runtime;

import java.util.concurrent.ThreadFactory;

/**
 * Creates the threads of the service, which do not keep the JVM alive. They live as long as the service, but often a thread that
 * serves a request starts them. So they inherit nothing from that thread: neither inheritable thread-locals (a tenant, a user)
 * nor the context class loader.
 */
public final class DaemonThreads {

    private DaemonThreads() {}

    public static ThreadFactory named(String name) {
        return task -> {
            Thread thread = new Thread(null, task, name, 0, false);
            thread.setDaemon(true);
            thread.setContextClassLoader(DaemonThreads.class.getClassLoader());
            return thread;
        };
    }
}
