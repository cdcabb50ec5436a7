package io.github.holdfast.test;

import io.github.holdfast.test.download.Cache;
import io.github.holdfast.test.process.Janitor;
import io.github.holdfast.test.process.Ports;
import io.github.holdfast.test.process.Signal;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Starts PostgreSQL from the binaries on the class path. It also works as root, because zonky then uses {@code unshare -U}. */
final class EmbeddedPostgresql implements ServerProcess {

    private static final Pattern VERSION = Pattern.compile("-([0-9.]+)\\.jar!");

    private final Path directory;
    private final String zone;
    private final JdbcServer server;
    private EmbeddedPostgres postgres;

    private EmbeddedPostgresql(Path directory, String zone) throws IOException {
        this.directory = directory;
        this.zone = zone;
        Cache.copy(template(), data());
        this.postgres = started(Ports.free());
        this.server = JdbcServer.started(
                TestDatabase.POSTGRESQL,
                "jdbc:postgresql://127.0.0.1:" + postgres.getPort() + "/postgres",
                new JdbcServer.Login("postgres", "postgres"));
    }

    /** Copies an initialised data directory to {@code data}. Returns the command to start a server on it. */
    static List<String> prepare(Path directory) throws IOException {
        Path template = template();
        Path data = directory.resolve("data");
        Cache.copy(template, data);
        // PostgreSQL refuses to run as root. In a separate user namespace, root does not count as root.
        List<String> command = new ArrayList<>(Mysqld.isRoot(directory) ? List.of("unshare", "-U") : List.of());
        command.addAll(List.of(
                program(template),
                "-D",
                data.toString(),
                "-c",
                "listen_addresses=127.0.0.1",
                "-c",
                "unix_socket_directories=",
                // The same value as in the template. With a smaller value, a standby would refuse to start.
                "-c",
                "max_connections=300",
                "-c",
                "fsync=" + Durability.current().fsync()));
        return command;
    }

    /** Returns the program that zonky has unpacked. PostgreSQL records the command of its last start. */
    private static String program(Path data) throws IOException {
        String options = Files.readString(data.resolve("postmaster.opts"));
        return options.substring(0, options.indexOf(" \""));
    }

    private static Path template() {
        return Cache.filled("postgresql-" + version() + "-data", EmbeddedPostgresql::initialise);
    }

    static EmbeddedPostgresql start(String zone) {
        Path directory = Janitor.temporaryDirectory();
        try {
            return new EmbeddedPostgresql(directory, zone);
        } catch (IOException | IllegalStateException e) {
            throw new IllegalStateException(e.getMessage() + hint(directory), e);
        }
    }

    @Override
    public JdbcServer server() {
        return server;
    }

    @Override
    public void kill() {
        try {
            Optional<ProcessHandle> postmaster = ProcessHandle.of(postmaster()).filter(EmbeddedPostgresql::lives);
            // A stopped postmaster cannot start another process, which the code below would miss.
            postmaster.map(ProcessHandle::pid).ifPresent(Signal::stop);
            List<ProcessHandle> processes = postmaster.stream()
                    .flatMap(handle -> Stream.concat(Stream.of(handle), handle.descendants()))
                    .toList();
            processes.forEach(ProcessHandle::destroyForcibly);
            while (processes.stream().anyMatch(EmbeddedPostgresql::lives)) {
                LockSupport.parkNanos(1_000_000);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Whether a process lives. In a container without an init process, a dead process may remain as a zombie, which has no
     * command.
     */
    private static boolean lives(ProcessHandle process) {
        return process.isAlive() && process.info().command().isPresent();
    }

    @Override
    public void restart() {
        try {
            // Removes the locks of the killed server, because the new server takes its own. This code knows better
            // than PostgreSQL that the process is dead; see lives().
            Files.deleteIfExists(data().resolve("epg-lock"));
            Files.deleteIfExists(data().resolve("postmaster.pid"));
            postgres = started(postgres.getPort());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void stop() {
        try {
            // Stops the server without a kill, so that it frees its shared memory.
            postgres.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private EmbeddedPostgres started(int port) throws IOException {
        EmbeddedPostgres started = builder(data())
                .setPort(port)
                .setServerConfig("timezone", zone)
                .setServerConfig("listen_addresses", "127.0.0.1")
                // No socket, because the leftover socket of a killed server would prevent a start.
                .setServerConfig("unix_socket_directories", "")
                .setServerConfig("fsync", Durability.current().fsync())
                .setServerConfig("synchronous_commit", "on")
                .start();
        // QUIT ends the server at once, as KILL does, but also frees the shared memory.
        Janitor.endAfterwards(directory, postmaster(), "QUIT");
        return started;
    }

    private Path data() {
        return directory.resolve("data");
    }

    private long postmaster() throws IOException {
        return Long.parseLong(
                Files.readAllLines(data().resolve("postmaster.pid")).get(0));
    }

    /** Fills the data directory: starts a server once, and stops it. */
    private static void initialise(Path data) throws IOException {
        builder(data).setPort(Ports.free()).start().close();
    }

    private static EmbeddedPostgres.Builder builder(Path data) {
        return EmbeddedPostgres.builder()
                // A separate directory, because zonky makes it writable for all users.
                .setOverrideWorkingDirectory(
                        Cache.directory().resolve("postgresql").toFile())
                .setDataDirectory(data)
                .setCleanDataDirectory(false)
                .setRegisterShutdownHook(false)
                .setPGStartupWait(Duration.ofSeconds(60));
    }

    private static String version() {
        URL binaries = Stream.of("x86_64", "arm_64")
                .map(architecture -> EmbeddedPostgresql.class.getResource("/postgres-linux-" + architecture + ".txz"))
                .filter(Objects::nonNull)
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("there are no binaries on the class path"));
        Matcher matcher = VERSION.matcher(binaries.toString());
        if (!matcher.find()) {
            throw new IllegalStateException("No version in " + binaries);
        }
        return matcher.group(1);
    }

    private static String hint(Path own) {
        return Mysqld.isRoot(own)
                ? " (PostgreSQL refuses to run as root: run as another user, or where `unshare -U id` works)"
                : "";
    }
}
