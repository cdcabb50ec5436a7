package io.github.holdfast.clusters;

import static org.awaitility.Awaitility.await;

import io.github.holdfast.test.Database;
import io.github.holdfast.test.ServerPrograms;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** A pooler between an application and a database of PostgreSQL, from the package {@code pgbouncer} of Debian. */
final class PgBouncer implements AutoCloseable {

    private static final Path PROGRAM = Path.of("/usr/sbin/pgbouncer");

    /** How it gives sessions of the server to connections. */
    enum Mode {
        /** To a connection, as long as that lasts. */
        SESSION,
        /** To a transaction. */
        TRANSACTION,
        /** To a transaction; all connections share one. */
        TRANSACTION_ON_ONE_SESSION
    }

    private final Process process;
    private final int port;

    private PgBouncer(Process process, int port) {
        this.process = process;
        this.port = port;
    }

    /** One that has answered. */
    static PgBouncer before(Database database) {
        if (!Files.exists(PROGRAM)) {
            throw ServerPrograms.unavailable(
                    "PgBouncer did not start: install pgbouncer", new IllegalStateException("there is no " + PROGRAM));
        }
        Path directory = ServerPrograms.newDirectory();
        int port = ServerPrograms.freePort();
        Path configuration = directory.resolve("pgbouncer.ini");
        try {
            Files.writeString(configuration, configuration(database, port));
            // Another user must be able to read it.
            Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        List<String> command = new ArrayList<>();
        if (System.getProperty("user.name").equals("root")) {
            // It refuses to run as root.
            command.addAll(List.of("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"));
        }
        command.addAll(List.of(PROGRAM.toString(), configuration.toString()));
        PgBouncer pooler = new PgBouncer(ServerPrograms.start(directory, command), port);
        await().atMost(Duration.ofSeconds(30)).until(() -> {
            if (!pooler.process.isAlive()) {
                throw new IllegalStateException(Files.readString(directory.resolve("log")));
            }
            return pooler.answers();
        });
        return pooler;
    }

    private static String configuration(Database database, int port) {
        URI server = URI.create(database.url().substring("jdbc:".length()));
        String target = "host=%s port=%d dbname=%s user=%s password=%s"
                .formatted(
                        server.getHost(),
                        server.getPort(),
                        server.getPath().substring(1),
                        database.user(),
                        database.password());
        return """
                [databases]
                session = %1$s pool_mode=session
                transaction = %1$s pool_mode=transaction
                transaction_on_one_session = %1$s pool_mode=transaction pool_size=1
                [pgbouncer]
                listen_addr = 127.0.0.1
                listen_port = %2$d
                unix_socket_dir =
                auth_type = any
                ignore_startup_parameters = extra_float_digits
                """.formatted(target, port);
    }

    private boolean answers() {
        try (Socket connection = new Socket(InetAddress.getLoopbackAddress(), port)) {
            return connection.isConnected();
        } catch (IOException notYet) {
            return false;
        }
    }

    /** What leads through it. */
    String url(Mode mode) {
        return "jdbc:postgresql://127.0.0.1:" + port + "/" + mode.name().toLowerCase(Locale.ROOT) + "?user=any";
    }

    @Override
    public void close() {
        process.destroyForcibly().onExit().join();
    }
}
