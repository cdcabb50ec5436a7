package io.github.holdfast.test;

import io.github.holdfast.test.process.Janitor;
import io.github.holdfast.test.process.Ports;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;

/**
 * The programs of the database servers, for tests that start several as a cluster. The tests themselves configure the cluster.
 *
 * <p>Each server has its own directory, and writes its output to the file {@code log} there. The server ends with the tests at
 * the latest, and its directory is then deleted. Linux only. Thread-safe.
 *
 * <pre>{@code
 * Path directory = ServerPrograms.newDirectory();
 * List<String> command = new ArrayList<>(ServerPrograms.postgresql(directory));
 * command.addAll(List.of("-c", "port=" + ServerPrograms.freePort()));
 * Process server = ServerPrograms.start(directory, command);
 * }</pre>
 */
public final class ServerPrograms {

    private ServerPrograms() {}

    /**
     * Creates a new directory. It is deleted after the end of this JVM.
     *
     * @return the directory, empty
     */
    public static Path newDirectory() {
        return Janitor.temporaryDirectory();
    }

    /**
     * Returns a port for a server.
     *
     * @return a port of the loopback interface on which no server listens now
     */
    public static int freePort() {
        return Ports.free();
    }

    /**
     * Prepares a PostgreSQL server of the same version as {@link TestDatabase#POSTGRESQL}. On TCP connections from this machine,
     * it trusts every user name, including the administrator {@code postgres}.
     *
     * @param directory gets the initialised data in {@code data}
     * @return the command that starts a server on this data, without a port; options of the form {@code -c name=value} may follow
     * @throws org.opentest4j.TestAbortedException if there is none; with the environment variable {@code CI=true} it is an
     *     {@link IllegalStateException}
     */
    public static List<String> postgresql(Path directory) {
        try {
            return EmbeddedPostgresql.prepare(directory);
        } catch (IOException | IllegalStateException e) {
            throw Unavailable.because(TestDatabase.POSTGRESQL, e);
        }
    }

    /**
     * Prepares a MySQL server of the same version as {@link TestDatabase#MYSQL}, with the plug-ins for semi-synchronous
     * replication and Group Replication. No user can log in at first. Create users in a file, and pass it as {@code --init-file}.
     *
     * @param directory gets the initialised data in {@code data}
     * @return the command that starts a server on this data, without a port; other options may follow
     * @throws org.opentest4j.TestAbortedException if there is none; with the environment variable {@code CI=true} it is an
     *     {@link IllegalStateException}
     */
    public static List<String> mysql(Path directory) {
        try {
            return EmbeddedMySql.prepare(directory);
        } catch (IOException | IllegalStateException | UncheckedIOException e) {
            throw Unavailable.because(TestDatabase.MYSQL, e);
        }
    }

    /**
     * Prepares a MariaDB server of the same version as {@link TestDatabase#MARIADB}. No user can log in at first. Create users in
     * a file, and pass it as {@code --init-file}.
     *
     * @param directory gets the initialised data in {@code data}
     * @return the command that starts a server on this data, without a port; other options may follow
     * @throws org.opentest4j.TestAbortedException if there is none; with the environment variable {@code CI=true} it is an
     *     {@link IllegalStateException}
     */
    public static List<String> mariaDb(Path directory) {
        try {
            return EmbeddedMariaDb.prepare(directory);
        } catch (IOException | IllegalStateException | UncheckedIOException e) {
            throw Unavailable.because(TestDatabase.MARIADB, e);
        }
    }

    /**
     * Starts a server.
     *
     * @param directory the server's own directory, which the command names
     * @param command the program and its options
     * @return the process, which may not be ready yet
     */
    public static Process start(Path directory, List<String> command) {
        try {
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.appendTo(
                            directory.resolve("log").toFile()))
                    .start();
            // Both PostgreSQL and mysqld end at once on QUIT, and PostgreSQL still frees its shared memory.
            Janitor.endAfterwards(directory, process.pid(), "QUIT");
            return process;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Returns the exception to throw if a server of a cluster cannot start.
     *
     * @param message what is missing
     * @param cause why
     * @return {@link org.opentest4j.TestAbortedException}; with the environment variable {@code CI=true}
     *     {@link IllegalStateException}
     */
    public static RuntimeException unavailable(String message, Throwable cause) {
        return Unavailable.because(message, cause);
    }
}
