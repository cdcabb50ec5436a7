package io.github.holdfast.clusters;

import static org.awaitility.Awaitility.await;

import io.github.holdfast.test.FakeTime;
import io.github.holdfast.test.ServerPrograms;
import io.github.holdfast.test.TestDatabase;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
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
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One node: a server with its own data, whose administrator is {@code root} without a password. Not thread-safe. */
final class GaleraNode {

    /** The clock of the machine, for which nothing is preloaded. */
    static final String USUAL_CLOCK = "+0s";

    private static final Path PROVIDER = Path.of("/usr/lib/galera/libgalera_smm.so");

    /** Programs and what brings them. */
    private static final Map<Path, String> PACKAGES = Map.of(
            Path.of("/usr/sbin/mariadbd"), "mariadb-server", PROVIDER, "galera-4", Path.of("/usr/bin/rsync"), "rsync");

    /** The user that the package brings. */
    private static final String SERVICE = "mysql";

    private static final Duration SOON = Duration.ofMinutes(2);

    private final Path directory;
    private final int port = ServerPrograms.freePort();
    private final int groupPort = ServerPrograms.freePort();
    private final int transferPort = ServerPrograms.freePort();
    private final int incrementalPort = ServerPrograms.freePort();
    private @Nullable Process process;

    private GaleraNode(Path directory) {
        this.directory = directory;
    }

    /**
     * Looks whether it can be started.
     *
     * @throws RuntimeException as {@link ServerPrograms#unavailable} says, which names the packages that are missing
     */
    static void requirePackages() {
        List<String> missing = PACKAGES.entrySet().stream()
                .filter(program -> !Files.exists(program.getKey()))
                .map(Map.Entry::getValue)
                .sorted()
                .toList();
        if (!missing.isEmpty()) {
            throw ServerPrograms.unavailable(
                    "Galera did not start: install " + String.join(" ", missing),
                    new IllegalStateException("packages are missing"));
        }
    }

    /** One that can be the first, and does not run yet. */
    static GaleraNode first() {
        GaleraNode node = empty();
        List<String> command = new ArrayList<>(List.of(
                "mariadb-install-db",
                "--no-defaults",
                "--skip-test-db",
                "--auth-root-authentication-method=normal",
                "--innodb-log-file-size=8M",
                "--datadir=" + node.data()));
        command.addAll(asService());
        run(command);
        return node;
    }

    /** One that does not run yet, and will have its data from those that it joins. */
    static GaleraNode empty() {
        GaleraNode node = new GaleraNode(ServerPrograms.newDirectory());
        run(List.of("mkdir", node.data().toString()));
        if (isRoot()) {
            run(List.of("chown", "-R", SERVICE, node.directory.toString()));
        }
        return node;
    }

    private static void run(List<String> command) {
        try {
            Process process =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (process.waitFor() != 0) {
                throw new IllegalStateException(output);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    private Path data() {
        return directory.resolve("data");
    }

    private static boolean isRoot() {
        return System.getProperty("user.name").equals("root");
    }

    /** As root, rsync would be another user than the server, and could not write to its directory. */
    private static List<String> asService() {
        return isRoot() ? List.of("--user=" + SERVICE) : List.of();
    }

    /**
     * Starts it and waits until it answers.
     *
     * @param cluster the address of those that it joins; {@code gcomm://} to be the first
     * @param clock how its clock differs, as libfaketime writes it
     */
    void start(String cluster, String clock) {
        List<String> command = new ArrayList<>();
        if (!clock.equals(USUAL_CLOCK)) {
            command.add("env");
            FakeTime.environment(clock, TestDatabase.MARIADB).forEach((name, value) -> command.add(name + "=" + value));
        }
        command.addAll(List.of(
                "/usr/sbin/mariadbd",
                "--no-defaults",
                "--datadir=" + data(),
                "--tmpdir=" + directory,
                "--socket=" + directory.resolve("socket"),
                "--pid-file=" + directory.resolve("pid"),
                "--port=" + port,
                "--bind-address=127.0.0.1",
                "--skip-name-resolve",
                "--innodb-log-file-size=8M",
                "--innodb-use-native-aio=0",
                "--innodb-flush-log-at-trx-commit=0",
                "--binlog-format=ROW",
                "--innodb-autoinc-lock-mode=2",
                "--wsrep-on=ON",
                "--wsrep-provider=" + PROVIDER,
                "--wsrep-cluster-name=holdfast",
                "--wsrep-cluster-address=" + cluster,
                "--wsrep-node-address=127.0.0.1:" + groupPort,
                "--wsrep-sst-method=rsync",
                "--wsrep-sst-receive-address=127.0.0.1:" + transferPort,
                "--wsrep-provider-options=base_port=" + groupPort + ";gmcast.listen_addr=tcp://127.0.0.1:" + groupPort
                        + ";ist.recv_addr=127.0.0.1:" + incrementalPort + ";gcache.size=8M"));
        command.addAll(asService());
        Process started = ServerPrograms.start(directory, command);
        process = started;
        await().pollInterval(Duration.ofMillis(100)).atMost(SOON).until(() -> {
            if (!started.isAlive()) {
                throw new IllegalStateException(Files.readString(directory.resolve("log")));
            }
            return isReady();
        });
    }

    private boolean isReady() {
        return "ON".equals(status("wsrep_ready"));
    }

    /** How many nodes it sees; 0 if it does not answer. */
    int clusterSize() {
        String size = isReady() ? status("wsrep_cluster_size") : null;
        return size == null ? 0 : Integer.parseInt(size);
    }

    private @Nullable String status(String variable) {
        try (Connection connection = connect();
                Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery("show status like '" + variable + "'")) {
            return result.next() ? result.getString(2) : null;
        } catch (SQLException notYet) {
            return null;
        }
    }

    Connection connect() throws SQLException {
        return DriverManager.getConnection("jdbc:mariadb://127.0.0.1:" + port + "/?user=root");
    }

    int port() {
        return port;
    }

    String groupAddress() {
        return "127.0.0.1:" + groupPort;
    }

    /** Ends it at once. */
    void kill() {
        if (process != null) {
            process.destroyForcibly().onExit().join();
        }
    }
}
