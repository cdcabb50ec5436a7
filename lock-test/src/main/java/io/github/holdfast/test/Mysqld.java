package io.github.holdfast.test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import javax.sql.DataSource;

/** A server process of MySQL or MariaDB on a copy of an initialised data directory. */
final class Mysqld {

    private static final Duration LONGEST_START = Duration.ofSeconds(60);
    private static final JdbcServer.Login ADMINISTRATOR = new JdbcServer.Login("administrator", "administrator");

    private final TestDatabase kind;
    private final Path template;
    private final List<String> command;
    private final String zone;

    Mysqld(TestDatabase kind, Path template, List<String> command, String zone) {
        this.kind = kind;
        this.template = template;
        this.command = command;
        this.zone = zone;
    }

    JdbcServer start(String urlOptions, String... options) {
        try {
            Path directory = Janitor.temporaryDirectory();
            Cache.copy(template, directory.resolve("data"));
            int port = freePort();
            Process process = new ProcessBuilder(command(directory, port, options))
                    .redirectErrorStream(true)
                    .redirectOutput(directory.resolve("log").toFile())
                    .start();
            Janitor.endAfterwards(directory, process.pid(), "KILL");
            String url = "jdbc:" + kind.key() + "://127.0.0.1:" + port + "/mysql" + urlOptions;
            await(process, kind.dataSource(url, ADMINISTRATOR.name(), ADMINISTRATOR.password()), directory);
            return JdbcServer.started(kind, url, ADMINISTRATOR);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private List<String> command(Path directory, int port, String... options) throws IOException {
        Path init = directory.resolve("init.sql");
        Files.writeString(init, """
                create user administrator identified by 'administrator';
                grant all on *.* to administrator with grant option;
                """);
        List<String> all = new ArrayList<>(command);
        all.addAll(List.of(options));
        all.addAll(List.of(
                "--datadir=" + directory.resolve("data"),
                "--socket=" + directory.resolve("socket"),
                "--pid-file=" + directory.resolve("pid"),
                "--tmpdir=" + directory,
                "--init-file=" + init,
                "--secure-file-priv=",
                "--port=" + port,
                "--bind-address=127.0.0.1",
                // The host of a login is then always the address: no lookup, no anonymous user of localhost.
                "--skip-name-resolve",
                "--default-time-zone=" + zone,
                "--max-connections=300",
                "--innodb-flush-log-at-trx-commit=0",
                "--innodb-flush-method=nosync",
                // Many servers on one machine run out of the kernel's aio contexts.
                "--innodb-use-native-aio=0"));
        all.addAll(asRoot(directory));
        return all;
    }

    private static void await(Process process, DataSource dataSource, Path directory) throws IOException {
        long deadline = System.nanoTime() + LONGEST_START.toNanos();
        while (true) {
            try (Connection connection = dataSource.getConnection()) {
                connection.isValid(1);
                return;
            } catch (SQLException e) {
                if (ended(process) || System.nanoTime() > deadline) {
                    process.destroyForcibly();
                    throw new IllegalStateException(complaints(Files.readString(directory.resolve("log"))), e);
                }
            }
        }
    }

    private static boolean ended(Process process) throws IOException {
        try {
            return process.waitFor(50, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("Interrupted", e);
        }
    }

    /** Runs a program that fills a data directory. */
    static void initialise(Path directory, List<String> command, String... options) throws IOException {
        List<String> all = new ArrayList<>(command);
        all.addAll(List.of(options));
        all.add("--datadir=" + directory);
        all.addAll(asRoot(directory));
        Process process = new ProcessBuilder(all).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        try {
            if (process.waitFor() != 0) {
                throw new IllegalStateException(complaints(output));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("Interrupted", e);
        }
    }

    /** Both servers refuse to run as root unless told to. */
    private static List<String> asRoot(Path own) {
        return isRoot(own) ? List.of("--user=root") : List.of();
    }

    /** Whether this JVM runs as root, seen from something that it has created. */
    static boolean isRoot(Path own) {
        try {
            return Files.getAttribute(own, "unix:uid").equals(0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The complaints in an output, or else its end. */
    private static String complaints(String output) {
        String errors = output.lines()
                .filter(line -> line.contains("ERROR") || line.contains("error"))
                .collect(Collectors.joining("; "));
        return errors.isEmpty() ? output.substring(Math.max(0, output.length() - 500)) : errors;
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }
}
