package io.github.holdfast.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.github.holdfast.test.process.JavaProcess;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Tag("outage")
class ClockedDatabaseTest {

    private static final ZoneId NEW_YORK = ZoneId.of("America/New_York");

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MARIADB", "MYSQL"})
    void serverHasTheClockAndItRuns(TestDatabase kind) throws InterruptedException {
        LocalDateTime utc = LocalDateTime.parse("2026-03-08T06:59:50");
        try (ClockedDatabase clocked = ClockedDatabase.start(kind, utc, NEW_YORK)) {
            shows(clocked, utc);
            Instant before = now(clocked.database());
            clocked.database()
                    .queryForString(kind == TestDatabase.POSTGRESQL ? "select pg_sleep(1)" : "select sleep(1)");
            assertThat(Duration.between(before, now(clocked.database())))
                    .isBetween(Duration.ofMillis(990), Duration.ofSeconds(60));

            for (int hour = 0; hour < 2; hour++) {
                LocalDateTime other = LocalDateTime.parse("2027-11-07T05:59:50").plusHours(hour);
                clocked.set(other);
                shows(clocked, other);
                clocked.set(utc);
                shows(clocked, utc);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"MARIADB", "MYSQL"})
    void sessionsHaveTheServersZone(TestDatabase kind) throws InterruptedException {
        try (ClockedDatabase clocked =
                ClockedDatabase.start(kind, LocalDateTime.parse("2026-07-01T12:00:00"), NEW_YORK)) {
            String offset = "select timestampdiff(hour, utc_timestamp(), now())";
            assertThat(clocked.database().queryForLong(offset)).isEqualTo(-4);
            clocked.set(LocalDateTime.parse("2026-12-01T12:00:00"));
            assertThat(clocked.database().queryForLong(offset)).isEqualTo(-5);
        }
    }

    @Test
    void sessionsOfPostgresqlHaveTheZoneOfThisJvm() throws InterruptedException {
        try (ClockedDatabase clocked =
                ClockedDatabase.start(TestDatabase.POSTGRESQL, LocalDateTime.parse("2026-07-01T12:00:00"), NEW_YORK)) {
            assertThat(clocked.database().queryForString("show timezone"))
                    .isEqualTo(ZoneId.systemDefault().getId());
        }
    }

    @Test
    void h2IsRefused() {
        assertThatThrownBy(() -> ClockedDatabase.start(TestDatabase.H2_TCP, LocalDateTime.MIN, NEW_YORK))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void workerHasAnotherClockButRightTimeouts() throws InterruptedException {
        for (Duration offset : new Duration[] {Duration.ofMinutes(10), Duration.ofMinutes(-10)}) {
            try (JavaProcess worker = JavaProcess.of(Worker.class)
                    .env(FakeTime.environment(offset))
                    .start()) {
                Instant clock = Instant.parse(worker.awaitLine(line -> true, Duration.ofSeconds(60)));
                assertThat(clock).isCloseTo(Instant.now().plus(offset), within(60, ChronoUnit.SECONDS));
                long waited = Long.parseLong(worker.awaitLine(line -> true, Duration.ofSeconds(60)));
                assertThat(waited).isBetween(295L, 60_000L);
            }
        }
    }

    private static void shows(ClockedDatabase clocked, LocalDateTime utc) {
        assertThat(now(clocked.database())).isCloseTo(utc.toInstant(ZoneOffset.UTC), within(60, ChronoUnit.SECONDS));
    }

    private static Instant now(Database database) {
        String millis = database.kind() == TestDatabase.POSTGRESQL
                ? "select extract(epoch from clock_timestamp()) * 1000"
                : "select timestampdiff(microsecond, '1970-01-01', utc_timestamp(6)) / 1000";
        return Instant.ofEpochMilli(database.queryForLong(millis));
    }

    static final class Worker {
        private Worker() {}

        @SuppressWarnings("WaitNotInLoop") // How long it waits is the question.
        public static void main(String[] args) throws InterruptedException {
            JavaProcess.exitWithParent();
            System.out.println(Instant.now());
            long start = System.nanoTime();
            Object never = new Object();
            synchronized (never) {
                never.wait(300);
            }
            System.out.println(Duration.ofNanos(System.nanoTime() - start).toMillis());
            Thread.currentThread().join();
        }
    }
}
