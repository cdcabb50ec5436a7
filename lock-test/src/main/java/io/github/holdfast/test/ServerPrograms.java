package io.github.holdfast.test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;

/**
 * The programs of the servers, for tests that start several as a cluster: how, they say themselves.
 *
 * <p>A server lives in a directory of its own and writes its output to the file {@code log} there. It ends with the tests at the
 * latest, and the directory goes with it. Linux only. Thread-safe.
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
     * A new directory, which is deleted after the end of this JVM.
     *
     * @return the directory, empty
     */
    public static Path newDirectory() {
        return Janitor.temporaryDirectory();
    }

    /**
     * A port for a server.
     *
     * @return one of the loopback interface on which nobody listens now
     */
    public static int freePort() {
        return Ports.free();
    }

    /**
     * Prepares a server of PostgreSQL, the same that {@link TestDatabase#POSTGRESQL} has. Whoever comes by TCP from this machine is
     * believed to be who he says, such as the administrator {@code postgres}.
     *
     * @param directory gets the initialised data in {@code data}
     * @return the command that starts a server on these data, without a port; options of the form {@code -c name=value} may follow
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
     * Prepares a server of MySQL, the same that {@link TestDatabase#MYSQL} has, but with the plug-ins for semi-synchronous replication and Group
     * Replication. Nobody can log in: a file that {@code --init-file} names makes users.
     *
     * @param directory gets the initialised data in {@code data}
     * @return the command that starts a server on these data, without a port; other options may follow
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
     * Prepares a server of MariaDB, the same that {@link TestDatabase#MARIADB} has. Nobody can log in: a file that {@code --init-file}
     * names makes users.
     *
     * @param directory gets the initialised data in {@code data}
     * @return the command that starts a server on these data, without a port; other options may follow
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
     * @param directory its own; the command names it
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
            // What PostgreSQL and mysqld both understand: at once, and PostgreSQL still frees its shared memory.
            Janitor.endAfterwards(directory, process.pid(), "QUIT");
            return process;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * What a test throws when a server of its cluster cannot start.
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
