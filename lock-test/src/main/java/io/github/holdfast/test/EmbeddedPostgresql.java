package io.github.holdfast.test;

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

/** PostgreSQL from the binaries on the class path. It also runs as root: zonky then starts it with {@code unshare -U}. */
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

    /** Copies an initialised data directory to {@code data}, and returns the command that starts a server on it. */
    static List<String> prepare(Path directory) throws IOException {
        Path template = template();
        Path data = directory.resolve("data");
        Cache.copy(template, data);
        // As a user of a namespace of its own root does not count as root.
        List<String> command = new ArrayList<>(Mysqld.isRoot(directory) ? List.of("unshare", "-U") : List.of());
        command.addAll(List.of(
                program(template),
                "-D",
                data.toString(),
                "-c",
                "listen_addresses=127.0.0.1",
                "-c",
                "unix_socket_directories=",
                // As it was there, or a standby would refuse to start.
                "-c",
                "max_connections=300",
                "-c",
                "fsync=" + Durability.current().fsync()));
        return command;
    }

    /** The file that zonky has unpacked: PostgreSQL writes down how it was started last. */
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
            // One that is stopped starts no process that would be missed below.
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

    /** A process that nobody reaps, as in a container without an init, is still there but has no command. */
    private static boolean lives(ProcessHandle process) {
        return process.isAlive() && process.info().command().isPresent();
    }

    @Override
    public void restart() {
        try {
            // This JVM has the lock of the server that was killed, and the new one makes its own. That the process is
            // dead is known better than PostgreSQL could: see lives().
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
            // Not killed: its shared memory goes with it.
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
                // No socket of a server that was killed can be in the way.
                .setServerConfig("unix_socket_directories", "")
                .setServerConfig("fsync", Durability.current().fsync())
                .setServerConfig("synchronous_commit", "on")
                .start();
        // At once; but unlike KILL it also frees the shared memory.
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

    /** A server that was started once and stopped has the data directory. */
    private static void initialise(Path data) throws IOException {
        builder(data).setPort(Ports.free()).start().close();
    }

    private static EmbeddedPostgres.Builder builder(Path data) {
        return EmbeddedPostgres.builder()
                // One of its own, because zonky lets everybody write to it.
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
