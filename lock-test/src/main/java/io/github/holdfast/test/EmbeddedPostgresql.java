package io.github.holdfast.test;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** PostgreSQL from the binaries on the class path. It also runs as root: zonky then starts it with {@code unshare -U}. */
final class EmbeddedPostgresql {

    private static final Pattern VERSION = Pattern.compile("-([0-9.]+)\\.jar!");

    private EmbeddedPostgresql() {}

    static JdbcServer start(String zone) {
        Path directory = Janitor.temporaryDirectory();
        try {
            Path data = directory.resolve("data");
            Cache.copy(Cache.filled("postgresql-" + version() + "-data", EmbeddedPostgresql::initialise), data);
            @SuppressWarnings("resource") // The janitor stops it.
            EmbeddedPostgres postgres = builder(data)
                    .setServerConfig("timezone", zone)
                    .setServerConfig("listen_addresses", "127.0.0.1")
                    .setServerConfig("unix_socket_directories", directory.toString())
                    .start();
            // At once; but unlike KILL it also frees the shared memory.
            Janitor.endAfterwards(directory, postmaster(data), "QUIT");
            return JdbcServer.started(
                    TestDatabase.POSTGRESQL,
                    "jdbc:postgresql://127.0.0.1:" + postgres.getPort() + "/postgres",
                    new JdbcServer.Login("postgres", "postgres"));
        } catch (IOException | IllegalStateException e) {
            throw new IllegalStateException(e.getMessage() + hint(directory), e);
        }
    }

    /** A server that was started once and stopped has the data directory. */
    private static void initialise(Path data) throws IOException {
        builder(data).start().close();
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

    private static long postmaster(Path data) throws IOException {
        return Long.parseLong(Files.readAllLines(data.resolve("postmaster.pid")).get(0));
    }
}
