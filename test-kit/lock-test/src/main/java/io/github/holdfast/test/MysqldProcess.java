package io.github.holdfast.test;

import io.github.holdfast.test.process.Janitor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import javax.sql.DataSource;

/** A running server of MySQL or MariaDB. */
final class MysqldProcess implements ServerProcess {

    static final JdbcServer.Login ADMINISTRATOR = new JdbcServer.Login("administrator", "administrator");

    private static final Duration LONGEST_START = Duration.ofSeconds(60);

    private final Path directory;
    private final List<String> command;
    private final DataSource dataSource;
    private final JdbcServer server;
    private Process process;

    /**
     * Starts the server.
     *
     * @param directory the directory for all files of the server; the command names it
     */
    MysqldProcess(TestDatabase kind, Path directory, List<String> command, String url) {
        this.directory = directory;
        this.command = command;
        this.dataSource = DataSources.of(kind, url, ADMINISTRATOR.name(), ADMINISTRATOR.password());
        this.process = started();
        this.server = JdbcServer.started(kind, url, ADMINISTRATOR);
    }

    @Override
    public JdbcServer server() {
        return server;
    }

    @Override
    public void kill() {
        process.destroyForcibly().onExit().join();
    }

    @Override
    public void restart() {
        process = started();
    }

    @Override
    public void stop() {
        kill();
    }

    private Process started() {
        try {
            Process started = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(directory.resolve("log").toFile())
                    .start();
            Janitor.endAfterwards(directory, started.pid(), "KILL");
            await(started);
            return started;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void await(Process started) throws IOException {
        long deadline = System.nanoTime() + LONGEST_START.toNanos();
        while (true) {
            try (Connection connection = dataSource.getConnection()) {
                requireOwn(connection);
                return;
            } catch (SQLException e) {
                if (ended(started) || System.nanoTime() > deadline) {
                    started.destroyForcibly();
                    throw new IllegalStateException(complaints(Files.readString(directory.resolve("log"))), e);
                }
            }
        }
    }

    /**
     * Checks that the connection leads to this server. Another server may have taken the port first. It would answer too, and has
     * the same administrator.
     */
    private void requireOwn(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("select @@datadir")) {
            row.next();
            if (!Path.of(row.getString(1)).startsWith(directory)) {
                throw new SQLException("The server at this port has its data in " + row.getString(1));
            }
        }
    }

    private static boolean ended(Process started) throws IOException {
        try {
            return started.waitFor(50, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("Interrupted", e);
        }
    }

    /** Returns the errors in an output, or the end of the output if it contains none. */
    static String complaints(String output) {
        String errors = output.lines()
                .filter(line -> line.contains("ERROR") || line.contains("error"))
                .collect(Collectors.joining("; "));
        return errors.isEmpty() ? output.substring(Math.max(0, output.length() - 500)) : errors;
    }
}
