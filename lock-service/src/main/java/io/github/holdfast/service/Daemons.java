package io.github.holdfast.service;

import java.util.concurrent.ThreadFactory;

/**
 * Threads of the service, which do not keep the JVM alive. They live as long as the service does, so they take over nothing from
 * the thread that happens to start them, often one that serves a request: neither what it lets its children inherit (its tenant, its
 * user) nor its context class loader.
 */
final class Daemons {

    private Daemons() {}

    static ThreadFactory named(String name) {
        return task -> {
            Thread thread = new Thread(null, task, name, 0, false);
            thread.setDaemon(true);
            thread.setContextClassLoader(Daemons.class.getClassLoader());
            return thread;
        };
    }
}
