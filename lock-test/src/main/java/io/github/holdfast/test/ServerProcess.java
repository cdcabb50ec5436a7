package io.github.holdfast.test;

/** A server that runs in a process of its own and can be killed. It ends with this JVM at the latest. Not thread-safe. */
interface ServerProcess {

    /** The server, while it runs. */
    DatabaseServer server();

    /** Ends it at once (SIGKILL) while it runs, and waits for that. */
    void kill();

    /** Starts it again after {@link #kill()}, on the same data and the same port, and waits until it answers. */
    void restart();

    /** Ends it for good, while it runs. */
    void stop();
}
