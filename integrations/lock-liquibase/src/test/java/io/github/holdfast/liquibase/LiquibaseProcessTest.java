package io.github.holdfast.liquibase;

import static io.github.holdfast.test.TestDatabase.H2_TCP;
import static io.github.holdfast.test.TestDatabase.MARIADB;
import static io.github.holdfast.test.TestDatabase.MYSQL;
import static io.github.holdfast.test.TestDatabase.POSTGRESQL;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.test.Database;
import io.github.holdfast.test.FakeTime;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.process.JavaProcess;
import io.github.holdfast.test.process.JavaProcessBuilder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Processes that apply a changelog at their start. One of them is killed in the middle, or has a wrong clock. */
@Tag("process")
@OnEachDatabase({H2_TCP, POSTGRESQL, MARIADB, MYSQL})
class LiquibaseProcessTest {

    private static final Duration SOON = Duration.ofMinutes(2);
    private static final Duration LEASE = ofSeconds(6);

    private Database database;

    @BeforeEach
    void databaseWithLiquibasesTables(Database injected) throws Exception {
        database = injected;
        database.execute(
                "drop table if exists distributed_lock, lock_node, lock_audit, lock_run, lock_holder, lock_waiter,"
                        + " step, DATABASECHANGELOG, DATABASECHANGELOGLOCK");
        apply("changelog/empty.xml");
    }

    @Test
    void theNextStartGoesOnWhenTheLeaseOfAKilledOneIsOver() throws Exception {
        try (JavaProcess killed = starter(true).start()) {
            killed.awaitLine("in the middle"::equals, SOON);
            killed.kill();
        }
        try (Run next = Run.under(LiquibaseLock.on(database.dataSource()), database.dataSource())) {
            assertThat(next.lock().acquireLock()).as("right after the death").isFalse();
        }
        try (JavaProcess next = starter(false).start()) {
            next.awaitLine("done"::equals, SOON);
        }
        assertThatEachStepRanOnce();
    }

    @Test
    void aProcessThatWaitedRepeatsNothing() throws Exception {
        try (JavaProcess first = starter(true).start()) {
            first.awaitLine("in the middle"::equals, SOON);
            try (JavaProcess second = starter(false).start()) {
                second.awaitLine(line -> line.contains("Waiting for Liquibase's lock"), SOON);
                first.send("go on");
                first.awaitLine("done"::equals, SOON);
                second.awaitLine("done"::equals, SOON);
                assertThat(second.lines()).doesNotContain("in the middle");
            }
        }
        assertThatEachStepRanOnce();
    }

    @Test
    void ofThreeStartsAtOnceWhoseClocksDisagreeEachChangeSetRunsOnce() throws Exception {
        List<JavaProcess> starts = new ArrayList<>();
        try {
            starts.add(starter(false).start());
            starts.add(starter(false).env(FakeTime.environment(ofMinutes(10))).start());
            starts.add(starter(false).env(FakeTime.environment(ofMinutes(-10))).start());
            for (JavaProcess start : starts) {
                start.awaitLine("done"::equals, SOON);
            }
        } finally {
            starts.forEach(JavaProcess::close);
        }
        assertThatEachStepRanOnce();
    }

    @ParameterizedTest
    @ValueSource(ints = {-600, 600})
    void aRunWhoseClockIsWrongKeepsTheLockWhileItLivesAndNoLonger(int offsetSeconds) throws Exception {
        try (JavaProcess skewed = starter(true)
                        .env(FakeTime.environment(ofSeconds(offsetSeconds)))
                        .start();
                Run other = Run.under(LiquibaseLock.on(database.dataSource()), database.dataSource())) {
            skewed.awaitLine("in the middle"::equals, SOON);
            await().pollInterval(ofMillis(200))
                    .during(LEASE.plusSeconds(2))
                    .atMost(SOON)
                    .until(() -> !other.lock().acquireLock());
            long killed = System.nanoTime();
            skewed.kill();
            await().pollInterval(ofMillis(200))
                    .atMost(SOON)
                    .until(() -> other.lock().acquireLock());
            assertThat(Duration.ofNanos(System.nanoTime() - killed)).isLessThan(LEASE.plusSeconds(30));
            other.lock().releaseLock();
        }
    }

    /** Its clock goes on, but its threads do not: another one takes over, and it must not go on beside that one. */
    @Test
    void aRunThatStoodStillForLongerThanItsLeaseDoesNotGoOn() throws Exception {
        try (JavaProcess frozen = starter(true).start()) {
            frozen.awaitLine("in the middle"::equals, SOON);
            frozen.pause();
            try (JavaProcess next = starter(false).start()) {
                next.awaitLine("done"::equals, SOON);
            }
            frozen.resume();
            frozen.awaitLine(line -> line.contains("is lost"), SOON);
            // The driver of H2 cannot abort a connection.
            if (database.kind() != TestDatabase.H2_TCP) {
                frozen.send("go on");
                assertThat(frozen.waitFor(SOON)).as("its exit code").isNotZero();
            }
        }
        assertThatEachStepRanOnce();
    }

    private JavaProcessBuilder starter(boolean stops) {
        return JavaProcess.of(Starter.class)
                .jvmArgs("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
                .args(database.url(), database.user(), database.password(), LEASE.toString(), String.valueOf(stops));
    }

    private void apply(String changelog) throws Exception {
        try (Run run = Run.under(LiquibaseLock.on(database.dataSource()), database.dataSource())) {
            run.apply(changelog);
        }
    }

    private void assertThatEachStepRanOnce() {
        assertThat(database.queryForLong("select count(*) from step where name = 'two'"))
                .isEqualTo(1);
        assertThat(database.queryForLong("select count(*) from step where name = 'three'"))
                .isEqualTo(1);
        assertThat(database.queryForLong("select count(*) from DATABASECHANGELOG where ID in ('1', '2', '3')"))
                .isEqualTo(3);
    }
}
