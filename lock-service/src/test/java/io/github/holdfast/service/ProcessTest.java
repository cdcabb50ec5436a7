package io.github.holdfast.service;

import static io.github.holdfast.test.TestDatabase.H2_TCP;
import static io.github.holdfast.test.TestDatabase.MARIADB;
import static io.github.holdfast.test.TestDatabase.MYSQL;
import static io.github.holdfast.test.TestDatabase.POSTGRESQL;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.FakeTime;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.process.JavaProcess;
import io.github.holdfast.test.process.JavaProcessBuilder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Several processes, one of which is killed, or has a wrong clock, or another time zone. */
@Tag("process")
@OnEachDatabase({H2_TCP, POSTGRESQL, MARIADB, MYSQL}) // For several processes.
class ProcessTest {

    @Test
    void threeProcessesWhoseClocksAndZonesDisagreeLoseNoCount(Database database) throws Exception {
        countWith(
                database,
                counting(database, "Asia/Kolkata"),
                counting(database, "Pacific/Kiritimati").env(FakeTime.environment(Duration.ofMinutes(10))),
                counting(database, "America/St_Johns").env(FakeTime.environment(Duration.ofMinutes(-10))));
    }

    private static JavaProcessBuilder counting(Database database, String zone) {
        return LockWorker.prepare(database, "count", "counter", "25").jvmArgs("-Duser.timezone=" + zone);
    }

    private static void countWith(Database database, JavaProcessBuilder... prepared) throws Exception {
        List<JavaProcess> workers = new ArrayList<>();
        try (Services services = Services.on(database)) {
            services.open();
            Counter.create(database);
            for (JavaProcessBuilder worker : prepared) {
                workers.add(worker.start());
            }
            for (JavaProcess worker : workers) {
                assertThat(worker.waitFor(JavaProcess.LONGEST_START.multipliedBy(2)))
                        .as(() -> String.join("\n", worker.lines()))
                        .isZero();
            }
            assertThat(Counter.read(database)).isEqualTo(25L * workers.size());
        } finally {
            workers.forEach(JavaProcess::close);
        }
    }

    @Test
    void aKilledHolderKeepsTheLockUntilItsLeaseIsOverAndLeavesNoCountBehind(Database database) throws Exception {
        try (Services services = Services.on(database);
                JavaProcess worker = holding(database, "killed", ofSeconds(12), 2)) {
            LockService service = services.open();
            LockRequest request = LockRequest.of("killed").lease(ofSeconds(30)).waitAtMost(ofSeconds(60));
            long token = service.find("killed").orElseThrow().fencingToken();
            assertThat(service.find("killed")).map(LockInfo::holdCount).contains(2);
            worker.kill();
            assertThat(service.tryAcquire(LockRequest.of("killed").lease(ofSeconds(30))))
                    .isEmpty();
            try (LockHandle lock = service.acquire(request)) {
                assertThat(lock.holdCount()).isEqualTo(1);
                assertThat(lock.fencingToken()).isGreaterThan(token);
                assertThat(service.find("killed")).map(LockInfo::holdCount).contains(1);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {-600, 600})
    void aHolderWhoseClockIsWrongHoldsForItsLeaseAndNoLonger(int offsetSeconds, Database database) throws Exception {
        String name = "skewed " + offsetSeconds;
        try (Services services = Services.on(database)) {
            LockService service = services.open();
            LockHandle over = service.acquire(LockRequest.of(name).lease(ofSeconds(5)));
            try (JavaProcess worker = LockWorker.prepare(database, "hold", name, "12000", "1")
                    .env(FakeTime.environment(ofSeconds(offsetSeconds)))
                    .start()) {
                await().atMost(JavaProcess.LONGEST_START)
                        .until(() -> service.find(name)
                                .filter(found -> found.fencingToken() > over.fencingToken())
                                .isPresent());
                worker.awaitLine(line -> line.startsWith("holding"), JavaProcess.LONGEST_START);
                long seen = System.nanoTime();
                Duration left = java.util.Objects.requireNonNull(
                        service.find(name).orElseThrow().expiresIn());
                assertThat(left).isBetween(ofMillis(1), ofSeconds(12));
                LockRequest request = LockRequest.of(name).lease(ofSeconds(30)).waitAtMost(ofSeconds(60));
                service.acquire(request).close();
                assertThat(Duration.ofNanos(System.nanoTime() - seen)).isLessThan(left.plusSeconds(30));
            }
        }
    }

    private static JavaProcess holding(Database database, String name, Duration lease, int times) throws Exception {
        try (Services services = Services.on(database)) {
            services.open();
        }
        JavaProcess worker = LockWorker.prepare(
                        database, "hold", name, String.valueOf(lease.toMillis()), String.valueOf(times))
                .start();
        worker.awaitLine(line -> line.startsWith("holding"), JavaProcess.LONGEST_START);
        return worker;
    }

    @Test
    void sessionZonesOfConnectionsChangeNothing(Database database) throws Exception {
        try (Services services = Services.on(database)) {
            List<LockService> inManyZones = new ArrayList<>();
            for (String statement : zoneStatements(database.kind())) {
                inManyZones.add(services.open(pool -> pool.setConnectionInitSql(statement)));
            }
            for (LockService holder : inManyZones) {
                LockRequest request = LockRequest.of("zones").lease(ofSeconds(20));
                try (LockHandle lock = holder.acquire(request)) {
                    for (LockService other : inManyZones) {
                        assertThat(other.find("zones").orElseThrow().expiresIn())
                                .isBetween(ofSeconds(10), ofSeconds(20));
                        assertThat(other.tryAcquire(request.notReentrant())).isEmpty();
                    }
                }
            }
        }
    }

    private static List<String> zoneStatements(TestDatabase kind) {
        return switch (kind) {
            case POSTGRESQL -> List.of("set time zone 'UTC'", "set time zone 'Asia/Tokyo'", "set time zone '-9:30'");
            case MARIADB, MYSQL ->
                List.of("set time_zone = '+00:00'", "set time_zone = '+09:00'", "set time_zone = '-09:30'");
            default -> List.of("set time zone 'UTC'", "set time zone 'Asia/Tokyo'", "set time zone '-9:30'");
        };
    }
}
