package io.github.holdfast.service;

import java.util.concurrent.ThreadFactory;

/** Threads of tests, which do not keep the JVM alive. */
final class Daemons {

    private Daemons() {}

    static ThreadFactory named(String name) {
        return work -> {
            Thread thread = new Thread(work, name);
            thread.setDaemon(true);
            return thread;
        };
    }
}
