package io.github.holdfast.clusters;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.test.ServerPrograms;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A server of MySQL or MariaDB with its own data, which can replicate and be killed. The user {@code holdfast} has the same password and may do all in the
 * database {@code holdfast}. Not thread-safe.
 */
final class MysqlServer implements AutoCloseable {

    private static final Duration SOON = ofSeconds(90);

    private final Path directory = ServerPrograms.newDirectory();
    private final int port = ServerPrograms.freePort();
    private final String scheme;
    private final List<String> command;
    private @Nullable Process process;

    /**
     * One of MySQL with fresh data, which does not run yet.
     *
     * @param id tells it from the others of a cluster
     */
    MysqlServer(int id, String... options) {
        this("mysql", id, ServerPrograms::mysql, options);
        command.addAll(List.of(
                "--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--report-host=127.0.0.1", "--report-port=" + port));
    }

    private MysqlServer(String scheme, int id, Function<Path, List<String>> program, String... options) {
        this.scheme = scheme;
        command = new ArrayList<>(program.apply(directory));
        command.addAll(List.of("--server-id=" + id, "--port=" + port, "--init-file=" + init()));
        command.addAll(List.of(options));
    }

    /** The same of MariaDB. */
    static MysqlServer ofMariaDb(int id, String... options) {
        return new MysqlServer("mariadb", id, ServerPrograms::mariaDb, options);
    }

    /** Users of its own on each server: no transaction that another one would miss. */
    private Path init() {
        try {
            return Files.writeString(directory.resolve("init.sql"), """
                    set sql_log_bin = 0;
                    create user if not exists administrator identified by 'administrator';
                    grant all on *.* to administrator with grant option;
                    create user if not exists holdfast identified by 'holdfast';
                    grant all on holdfast.* to holdfast;
                    """);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Starts it and waits until it answers. */
    void start() {
        Process started = ServerPrograms.start(directory, command);
        process = started;
        await().pollInterval(ofMillis(100)).atMost(SOON).until(() -> {
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

    /** Ends it at once (SIGKILL). */
    void kill() {
        Process running = process;
        process = null;
        if (running != null) {
            running.destroyForcibly().onExit().join();
        }
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

    /** The first column of the first row. */
    String query(String sql) {
        try (Connection connection = connect();
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            return rows.next() ? String.valueOf(rows.getString(1)) : "";
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

    /** What leads the application to this server. */
    String url() {
        return "jdbc:" + scheme + "://" + address()
                + "/holdfast?user=holdfast&password=holdfast&useSSL=false&allowPublicKeyRetrieval=true";
    }

    private Connection connect() throws SQLException {
        return DriverManager.getConnection(
                "jdbc:" + scheme + "://" + address()
                        + "/?useSSL=false&allowPublicKeyRetrieval=true&connectTimeout=2000",
                "administrator",
                "administrator");
    }

    @Override
    public void close() {
        kill();
    }
}
