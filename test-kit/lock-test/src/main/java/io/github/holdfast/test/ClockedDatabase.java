package io.github.holdfast.test;

import io.github.holdfast.test.process.Janitor;
import io.github.holdfast.test.process.JavaProcess;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;

/**
 * A database on a separate server with a chosen clock and time zone. Use it to test changes of daylight saving time, and a clock
 * that is set during operation.
 *
 * <p>For PostgreSQL, MariaDB and MySQL. PostgreSQL's sessions still have the zone of the client's JVM, because the driver always
 * sets it. Needs Linux and libfaketime. Without libfaketime, {@link #start} aborts the test, or fails with the environment
 * variable {@code CI=true}.
 *
 * <pre>{@code
 * try (ClockedDatabase clocked = ClockedDatabase.start(
 *         TestDatabase.MYSQL, LocalDateTime.parse("2026-03-08T09:59:50"), ZoneId.of("America/Los_Angeles"))) {
 *     clocked.database().execute(...);
 * }
 * }</pre>
 */
public final class ClockedDatabase implements AutoCloseable {

    private static final Duration LONGEST_START = Duration.ofMinutes(2);

    /** The time within which each process of the server reads the clock's file again. */
    private static final Duration NOTICED = Duration.ofMillis(1100);

    private final JavaProcess process;
    private final Path clock;
    private final Database database;

    private ClockedDatabase(JavaProcess process, Path clock, Database database) {
        this.process = process;
        this.clock = clock;
        this.database = database;
    }

    /**
     * Starts a server and creates a database on it.
     *
     * @param kind the kind of server, not H2
     * @param utc the time of the server's clock when this method returns, within a second; the clock continues from there
     * @param serverZone the server's time zone, a region such as {@code America/New_York}
     * @return the running server; the caller closes it
     * @throws org.opentest4j.TestAbortedException if libfaketime is missing or the server cannot start; with the environment
     *     variable {@code CI=true} it is an {@link IllegalStateException}
     * @throws InterruptedException if this thread is interrupted
     */
    public static ClockedDatabase start(TestDatabase kind, LocalDateTime utc, ZoneId serverZone)
            throws InterruptedException {
        if (kind.isH2()) {
            throw new IllegalArgumentException("H2 has the clock of its JVM: see FakeTime.environment");
        }
        if (serverZone instanceof ZoneOffset) {
            throw new IllegalArgumentException("Not a region: in TZ an offset has the opposite sign");
        }
        Servers.requireWanted(kind);
        Path directory = Janitor.temporaryDirectory();
        Path clock = directory.resolve("clock");
        // The clock starts early, so that the next step is forward. After a step back, something in the server could
        // wait too long.
        write(clock, utc.minusMinutes(1).toInstant(ZoneOffset.UTC));
        JavaProcess process = JavaProcess.of(ClockedServer.class)
                // The process is killed, and zonky then leaves a file in this directory.
                .jvmArgs("-Djava.io.tmpdir=" + directory)
                .env(FakeTime.environment(clock, kind))
                .env("TZ", serverZone.getId())
                .args(kind.name(), serverZone.getId())
                .start();
        try {
            JdbcServer server = ClockedServer.await(process, kind, LONGEST_START);
            ClockedDatabase clocked = new ClockedDatabase(process, clock, new Database(server));
            clocked.set(utc);
            clocked.checkZone(serverZone);
            return clocked;
        } catch (AssertionError e) {
            process.close();
            throw Unavailable.because(kind, e);
        } catch (RuntimeException | InterruptedException e) {
            process.close();
            throw e;
        }
    }

    /**
     * Returns the database, fresh and empty.
     *
     * @return the database; this object closes it
     */
    public Database database() {
        return database;
    }

    /**
     * Sets the server's clock, as an administrator would. The server's other clocks make the same step. So a wait in progress on
     * the server can become too long or too short.
     *
     * @param utc the time of the server's clock when this method returns, within a second
     * @throws InterruptedException if this thread is interrupted
     */
    public void set(LocalDateTime utc) throws InterruptedException {
        Instant wanted = utc.toInstant(ZoneOffset.UTC);
        write(clock, wanted.minus(NOTICED));
        long deadline = System.nanoTime() + LONGEST_START.toNanos();
        Thread.sleep(NOTICED.toMillis());
        while (Duration.between(wanted, now()).abs().compareTo(Duration.ofSeconds(30)) > 0) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("The server's clock shows " + now() + " instead of " + wanted);
            }
            Thread.sleep(50);
        }
    }

    private Instant now() {
        String micros = database.kind() == TestDatabase.POSTGRESQL
                ? "select (extract(epoch from clock_timestamp()) * 1000000)::bigint"
                : "select timestampdiff(microsecond, '1970-01-01', utc_timestamp(6))";
        return Instant.EPOCH.plusNanos(database.queryForLong(micros) * 1000);
    }

    private void checkZone(ZoneId zone) {
        if (database.kind() == TestDatabase.POSTGRESQL) {
            return; // PostgreSQL has zones of its own, and refuses to start with an unknown one.
        }
        long seconds = database.queryForLong("select timestampdiff(second, utc_timestamp(), now())");
        if (seconds != zone.getRules().getOffset(now()).getTotalSeconds()) {
            throw new IllegalStateException(
                    "The system does not know the zone " + zone + " (Debian: apt-get install tzdata)");
        }
    }

    private static void write(Path clock, Instant shown) {
        Path next = clock.resolveSibling("next");
        try {
            Files.writeString(next, FakeTime.format(Duration.between(Instant.now(), shown)) + "\n");
            Files.move(next, clock, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Ends the server. */
    @Override
    public void close() {
        database.close();
        process.close();
    }
}
