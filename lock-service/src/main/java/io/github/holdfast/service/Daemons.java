package io.github.holdfast.service;

import java.util.concurrent.ThreadFactory;

/** Threads of the service, which do not keep the JVM alive. */
final class Daemons {

    private Daemons() {}

    static ThreadFactory named(String name) {
        return task -> {
            Thread thread = new Thread(task, name);
            thread.setDaemon(true);
            return thread;
        };
    }
}
