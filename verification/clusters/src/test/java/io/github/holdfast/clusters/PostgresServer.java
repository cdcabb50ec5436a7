package io.github.holdfast.clusters;

import static java.time.Duration.ofSeconds;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.test.FakeTime;
import io.github.holdfast.test.ServerPrograms;
import io.github.holdfast.test.TestDatabase;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A server of PostgreSQL with its own data, which can be stopped, killed and promoted. Not thread-safe. */
final class PostgresServer implements AutoCloseable {

    private static final Duration SOON = ofSeconds(60);

    private final Path directory;
    private final List<String> command;
    private final int port = ServerPrograms.freePort();
    private @Nullable Process process;

    private PostgresServer(Path directory, List<String> command) {
        this.directory = directory;
        this.command = command;
    }

    /** One with fresh data, which does not run yet. */
    static PostgresServer create() {
        Path directory = ServerPrograms.newDirectory();
        return new PostgresServer(directory, ServerPrograms.postgresql(directory));
    }

    /** A standby, which does not run yet, of this server, which must not run now. */
    PostgresServer copy() {
        Path copy = ServerPrograms.newDirectory();
        List<String> started = command.stream()
                .map(part -> part.replace(directory.toString(), copy.toString()))
                .toList();
        run("cp", "-a", data().toString(), copy.resolve("data").toString());
        PostgresServer standby = new PostgresServer(copy, started);
        standby.follow(this);
        return standby;
    }

    /** Makes it a standby of another one when it starts next. */
    void follow(PostgresServer primary) {
        configure(
                "primary_conninfo = 'host=127.0.0.1 port=" + primary.port + " user=postgres application_name=standby'");
        write("standby.signal", "");
    }

    /** Makes it a standby of nobody when it starts next. */
    void isolate() {
        configure("primary_conninfo = ''");
    }

    /** Has a commit wait until a standby has it. */
    void waitForStandby() {
        configure("synchronous_standby_names = 'standby'");
    }

    /** Writes what logical replication needs to its log. */
    void replicateLogically() {
        configure("wal_level = logical");
    }

    void configure(String line) {
        write("postgresql.auto.conf", line + "\n");
    }

    private void write(String file, String text) {
        try {
            Files.writeString(data().resolve(file), text, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Starts it and waits until it answers. */
    void start() {
        start(List.of());
    }

    /**
     * Starts it with another clock, and waits until it answers.
     *
     * @param clock how it differs, as libfaketime writes it
     */
    void start(String clock) {
        List<String> environment = new ArrayList<>(List.of("env"));
        FakeTime.environment(clock, TestDatabase.POSTGRESQL)
                .forEach((name, value) -> environment.add(name + "=" + value));
        start(environment);
    }

    private void start(List<String> environment) {
        List<String> all = new ArrayList<>(environment);
        all.addAll(command);
        all.addAll(List.of(
                "-c", "port=" + port, "-c", "wal_receiver_status_interval=1", "-c", "wal_retrieve_retry_interval=100"));
        Process started = ServerPrograms.start(directory, all);
        process = started;
        await().pollInterval(Duration.ofMillis(50)).atMost(SOON).until(() -> {
            if (!started.isAlive()) {
                throw new IllegalStateException(Files.readString(directory.resolve("log")));
            }
            return answers();
        });
    }

    private boolean answers() {
        try (Connection connection = connect()) {
            return connection.isValid(5);
        } catch (SQLException notYet) {
            return false;
        }
    }

    /** Ends it in good order: its standby has everything then. */
    void stop() {
        end("INT");
    }

    /** Ends it at once, as a crash would. */
    void kill() {
        end("QUIT");
    }

    private void end(String signal) {
        Process running = process;
        process = null;
        if (running != null && running.isAlive()) {
            run("kill", "-s", signal, String.valueOf(running.pid()));
            running.onExit().join();
        }
    }

    /** Makes a standby the primary, and waits until it writes. */
    void promote() {
        execute("select pg_promote(true, 60)");
    }

    void execute(String... statements) {
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    /** How many rows a query has. */
    int count(String query) {
        try (Connection connection = connect();
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(query)) {
            int count = 0;
            while (rows.next()) {
                count++;
            }
            return count;
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The address of this server as it stands in a URL. */
    String address() {
        return "127.0.0.1:" + port;
    }

    int port() {
        return port;
    }

    String url() {
        return "jdbc:postgresql://" + address() + "/postgres?user=postgres&connectTimeout=2";
    }

    private Connection connect() throws SQLException {
        return DriverManager.getConnection(url());
    }

    private Path data() {
        return directory.resolve("data");
    }

    private static void run(String... command) {
        try {
            Process process = new ProcessBuilder(command).inheritIO().start();
            if (process.onExit().join().exitValue() != 0) {
                throw new IllegalStateException("Failed: " + String.join(" ", command));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        kill();
    }
}
