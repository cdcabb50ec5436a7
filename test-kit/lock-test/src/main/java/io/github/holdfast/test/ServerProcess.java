package io.github.holdfast.test;

/** A server in a separate process, which a test can kill. It ends with this JVM at the latest. Not thread-safe. */
interface ServerProcess {

    /** Returns the server, while it runs. */
    DatabaseServer server();

    /** Kills the running server at once (SIGKILL), and waits for its end. */
    void kill();

    /** Starts the server again after {@link #kill()}, on the same data and the same port, and waits until it answers. */
    void restart();

    /** Ends the running server for good. */
    void stop();
}
