package io.github.holdfast.test;

import io.github.holdfast.test.download.Cache;
import io.github.holdfast.test.process.Janitor;
import io.github.holdfast.test.process.Ports;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Starts a server of MySQL or MariaDB, on a copy of an initialised data directory. */
final class Mysqld {

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

    MysqldProcess start(String urlOptions, String... options) {
        try {
            Path directory = Janitor.temporaryDirectory();
            Cache.copy(template, directory.resolve("data"));
            int port = Ports.free();
            String url = "jdbc:" + kind.key() + "://127.0.0.1:" + port + "/mysql" + urlOptions;
            return new MysqldProcess(kind, directory, command(directory, port, options), url);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private List<String> command(Path directory, int port, String... options) throws IOException {
        Path init = directory.resolve("init.sql");
        Files.writeString(init, """
                create user if not exists administrator identified by 'administrator';
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
                // The host of a login is then always the address: no lookup, and no anonymous user of localhost.
                "--skip-name-resolve",
                "--default-time-zone=" + zone,
                "--max-connections=300",
                // The default of ten seconds can be over before a client on a busy machine has logged in.
                "--connect-timeout=60",
                // Many servers on one machine would exhaust the kernel's aio contexts.
                "--innodb-use-native-aio=0"));
        all.addAll(Durability.current().mysqldOptions());
        all.addAll(asRoot(directory));
        return all;
    }

    /** Copies the template to {@code data}. Returns a command that starts a server on it; you may append options. */
    static List<String> prepare(Path directory, Path template, List<String> command) throws IOException {
        Path data = directory.resolve("data");
        Cache.copy(template, data);
        // The file contains the identity of the template's server. Without it, the new server creates its own.
        Files.deleteIfExists(data.resolve("auto.cnf"));
        List<String> all = new ArrayList<>(command);
        all.addAll(List.of(
                "--datadir=" + data,
                "--socket=" + directory.resolve("socket"),
                "--pid-file=" + directory.resolve("pid"),
                "--tmpdir=" + directory,
                "--bind-address=127.0.0.1",
                // The host of a login is then always the address: no lookup, and no anonymous user of localhost.
                "--skip-name-resolve",
                "--innodb-use-native-aio=0"));
        all.addAll(Durability.current().mysqldOptions());
        all.addAll(asRoot(directory));
        return all;
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
                throw new IllegalStateException(MysqldProcess.complaints(output));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("Interrupted", e);
        }
    }

    /** Returns the option to run as root, which both servers need. */
    private static List<String> asRoot(Path own) {
        return isRoot(own) ? List.of("--user=root") : List.of();
    }

    /** Whether this JVM runs as root. The owner of a file that this JVM has created shows it. */
    static boolean isRoot(Path own) {
        try {
            return Files.getAttribute(own, "unix:uid").equals(0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
