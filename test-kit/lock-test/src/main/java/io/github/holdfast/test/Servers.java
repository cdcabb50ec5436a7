package io.github.holdfast.test;

import java.time.ZoneId;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** The servers of this JVM. It starts each kind at most once, even if the start fails. */
final class Servers {

    private static final String WANTED = "holdfast.test.databases";

    private static final Map<TestDatabase, Start> STARTS = new ConcurrentHashMap<>();

    private Servers() {}

    static DatabaseServer of(TestDatabase kind) {
        requireWanted(kind);
        return STARTS.computeIfAbsent(kind, key -> new Start()).server(kind);
    }

    /** Aborts the test if the system property is set without this kind. On a build server, the test fails instead. */
    static void requireWanted(TestDatabase kind) {
        String wanted = System.getProperty(WANTED, "");
        if (!wanted.isEmpty() && !List.of(wanted.split(",")).contains(kind.key())) {
            throw Unavailable.because(kind.label() + " is not one of " + WANTED + "=" + wanted);
        }
    }

    private static DatabaseServer startNew(TestDatabase kind) {
        return switch (kind) {
            case H2_MEMORY -> H2Server.memory();
            case H2_FILE -> H2Server.file();
            case H2_TCP -> H2Server.tcp();
            case POSTGRESQL, MARIADB, MYSQL -> startProcess(kind).server();
        };
    }

    /** Starts a separate server, which a test can kill. */
    static ServerProcess startProcess(TestDatabase kind) {
        return switch (kind) {
            case H2_TCP -> new H2Process();
            case POSTGRESQL -> EmbeddedPostgresql.start("America/Los_Angeles");
            case MARIADB -> EmbeddedMariaDb.start("-08:00");
            case MYSQL -> EmbeddedMySql.start("-08:00");
            case H2_MEMORY, H2_FILE -> throw new IllegalArgumentException(kind.label() + " has no server");
        };
    }

    /** Starts a server in this process's time zone. */
    static JdbcServer startIn(ZoneId zone, TestDatabase kind) {
        return switch (kind) {
            case POSTGRESQL -> EmbeddedPostgresql.start(zone.getId()).server();
            case MARIADB -> EmbeddedMariaDb.start("SYSTEM").server();
            case MYSQL -> EmbeddedMySql.start("SYSTEM").server();
            case H2_MEMORY, H2_FILE, H2_TCP -> throw new IllegalArgumentException(kind.label());
        };
    }

    private static final class Start {
        private @Nullable DatabaseServer server;
        private @Nullable RuntimeException problem;

        synchronized DatabaseServer server(TestDatabase kind) {
            if (problem != null) {
                throw problem;
            }
            if (server == null) {
                try {
                    server = JdbcServer.existing(kind).orElseGet(() -> startNew(kind));
                } catch (RuntimeException e) {
                    problem = Unavailable.because(kind, e);
                    throw problem;
                }
            }
            return server;
        }
    }
}
