package io.github.holdfast.test;

/**
 * A database on a separate server. A test can kill the server and start it again, to simulate a crash of the database.
 *
 * <p>For PostgreSQL, MariaDB, MySQL, and H2 as a TCP server with a file. Commits survive a kill; on H2, the setting {@code
 * WRITE_DELAY=0} in the URL ensures this. The server ends with the tests at the latest. Not thread-safe.
 *
 * <pre>{@code
 * try (RestartableDatabase restartable = RestartableDatabase.start(TestDatabase.MYSQL)) {
 *     restartable.database().execute(...);
 *     restartable.kill();
 *     restartable.restart();
 * }
 * }</pre>
 */
public final class RestartableDatabase implements AutoCloseable {

    private final ServerProcess server;
    private final Database database;
    private boolean isDown;

    private RestartableDatabase(ServerProcess server) {
        this.server = server;
        this.database = new Database(server.server());
    }

    /**
     * Starts a server and creates a database on it.
     *
     * @param kind the kind of server, not H2 in memory or in a file of this JVM
     * @return the running server; the caller closes it
     * @throws org.opentest4j.TestAbortedException if the server cannot start; with the environment variable {@code CI=true}
     *     it is an {@link IllegalStateException}
     */
    public static RestartableDatabase start(TestDatabase kind) {
        if (kind == TestDatabase.H2_MEMORY || kind == TestDatabase.H2_FILE) {
            throw new IllegalArgumentException(kind.label() + " is part of this JVM");
        }
        Servers.requireWanted(kind);
        ServerProcess server;
        try {
            server = Servers.startProcess(kind);
        } catch (RuntimeException e) {
            throw Unavailable.because(kind, e);
        }
        return new RestartableDatabase(server);
    }

    /**
     * Returns the database, fresh and empty; it has the same URL after each start.
     *
     * @return the database; this object closes it
     */
    public Database database() {
        return database;
    }

    /**
     * Kills all processes of the server at once with SIGKILL, and waits for their end. They close nothing. Does nothing if the
     * server is down.
     */
    public void kill() {
        if (!isDown) {
            isDown = true;
            server.kill();
        }
    }

    /**
     * Starts the server again after {@link #kill()}, on the same data and the same port, and waits until it answers.
     *
     * @throws IllegalStateException if the server does not start
     */
    public void restart() {
        server.restart();
        isDown = false;
    }

    /** Ends the server. */
    @Override
    public void close() {
        if (isDown) {
            restart(); // PostgreSQL frees the shared memory of a killed server at the next start.
        }
        database.close();
        server.stop();
    }
}
