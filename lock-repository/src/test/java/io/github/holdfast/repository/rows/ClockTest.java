package io.github.holdfast.repository.rows;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariConfig;
import io.github.holdfast.entity.LockAvailability;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.store.OtherClient;
import io.github.holdfast.repository.store.TestApplication;
import io.github.holdfast.repository.store.TestSql;
import io.github.holdfast.repository.store.TestThreads;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.TestDatabase;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The database's clock: what it says in UTC at the moment of the write, whatever anybody's time zone is. */
@OnEachDatabase
@TestInstance(Lifecycle.PER_CLASS)
class ClockTest {

    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final Duration WAIT = Duration.ofSeconds(2);

    private Database database;
    private TestApplication application;

    @BeforeAll
    void open(Database injected) {
        database = injected;
        application = TestApplication.on(
                database,
                pool -> pool.setConnectionInitSql(TestSql.waitForRowsAtMost(database.kind(), Duration.ofSeconds(20))));
    }

    @AfterAll
    void close() {
        application.close();
    }

    @BeforeEach
    void deleteRows() {
        database.execute("delete from distributed_lock");
    }

    @Test
    void grantThatWaitedForTheRowLeavesTheFullLease() throws Exception {
        LockEntity row = application.create("job");
        Instant unlocked =
                whileRowIsLocked(locks -> locks.grant(row, row.granted("me", null, null), LEASE, LEASE), true);

        LockEntity granted = application.read("job").row();
        assertSoonAfter(unlocked, granted.acquiredAt());
        assertSoonAfter(unlocked.plus(LEASE), granted.expiresAt());
        assertSoonAfter(unlocked.plus(LEASE), granted.availableAt());
        assertThat(granted.version()).isEqualTo(row.version() + 1);
    }

    /** Or else two would hold the lock: the holder counts from when it sent the write, not from the transaction's begin. */
    @Test
    void pauseBetweenReadingAndWritingDoesNotShortenTheLease() {
        LockEntity created = application.create("job");
        Instant written = application.call(locks -> {
            LockSnapshot seen = locks.read("job").orElseThrow();
            await().until(() -> TestSql.clock(database).isAfter(seen.dbNow().plusMillis(200)));
            Instant now = TestSql.clock(database);
            assertThat(locks.read("job").orElseThrow().dbNow()).isAfterOrEqualTo(now);
            assertThat(locks.grant(created, created.granted("me", null, null), LEASE, LEASE))
                    .isTrue();
            return now;
        });

        LockEntity granted = application.read("job").row();
        assertSoonAfter(written, granted.acquiredAt());
        assertSoonAfter(written.plus(LEASE), granted.expiresAt());
        assertSoonAfter(written.plus(LEASE), granted.availableAt());
    }

    @Test
    void leaseThatEndsBetweenReadingAndWritingIsNotExtended() {
        LockEntity row = application.grant("job", "me", Duration.ofSeconds(5));
        boolean extended = application.call(locks -> {
            LockSnapshot seen = locks.read("job").orElseThrow();
            assertThat(seen.availability("me", null, Duration.ZERO)).isEqualTo(LockAvailability.HELD_BY_CLAIMANT);
            await().until(() -> TestSql.clock(database).isAfter(row.expiresAt()));
            return locks.extend(row, row.reentered(), LEASE);
        });

        assertThat(extended).isFalse();
    }

    @Test
    void extendThatWaitedForTheRowLeavesTheFullLease() throws Exception {
        LockEntity row = application.grant("job", "me", LEASE);
        Instant unlocked = whileRowIsLocked(locks -> locks.extend(row, row.reentered(), LEASE.plus(LEASE)), true);

        LockEntity extended = application.read("job").row();
        assertSoonAfter(unlocked.plus(LEASE).plus(LEASE), extended.expiresAt());
        assertThat(extended)
                .usingRecursiveComparison()
                .ignoringFields("expiresAt")
                .isEqualTo(row.reentered());
    }

    @Test
    void extendThatWaitedForTheRowMakesNoLeaseShorter() throws Exception {
        LockEntity row = application.grant("job", "me", LEASE);
        whileRowIsLocked(locks -> locks.extend(row, row.reentered(), Duration.ofSeconds(1)), true);

        assertThat(application.read("job").row()).usingRecursiveComparison().isEqualTo(row.reentered());
    }

    /** PostgreSQL and H2 decide before they wait. Nobody else was granted the lock meanwhile: the version says so. */
    @Test
    void extendWhoseLeaseEndsWhileItWaits() throws Exception {
        // Long enough for the statement to be sent before that is over, on a slow machine too.
        Duration lease = WAIT.multipliedBy(2);
        LockEntity row = application.grant("job", "me", lease);
        boolean decidesFirst = database.kind().isH2() || database.kind() == TestDatabase.POSTGRESQL;
        whileRowIsLocked(lease.plus(WAIT), locks -> locks.extend(row, row.reentered(), LEASE), decidesFirst);

        assertThat(application.read("job").row().holdCount()).isEqualTo(decidesFirst ? 2 : 1);
    }

    /** Returns what the clock said just before the row was given free. */
    private Instant whileRowIsLocked(Function<TransactionalLockRows, Boolean> write, boolean expected)
            throws Exception {
        return whileRowIsLocked(WAIT, write, expected);
    }

    private Instant whileRowIsLocked(Duration time, Function<TransactionalLockRows, Boolean> write, boolean expected)
            throws Exception {
        try (OtherClient holder = OtherClient.lockingRow(database, "job");
                TestThreads threads = new TestThreads()) {
            Future<Boolean> waiting = threads.start(() -> application.call(write));
            assertThatThrownBy(() -> waiting.get(time.toMillis(), TimeUnit.MILLISECONDS))
                    .isInstanceOf(TimeoutException.class);
            Instant unlocked = holder.clock();
            holder.commit();
            assertThat(waiting.get(60, TimeUnit.SECONDS)).isEqualTo(expected);
            return unlocked;
        }
    }

    private static void assertSoonAfter(Instant expected, @Nullable Instant actual) {
        assertThat(actual).isBetween(expected, expected.plusSeconds(10));
    }

    @ParameterizedTest
    @ValueSource(strings = {"-08:00", "+00:00", "+05:45", "+12:45"})
    void clockIsUtcInEverySessionZone(String offset) {
        assertLeaseIsRight(pool -> pool.setConnectionInitSql(TestSql.zone(database.kind(), offset)), Map.of());
    }

    @ParameterizedTest
    @CsvSource({
        "hibernate.jdbc.time_zone, America/New_York",
        "hibernate.jdbc.time_zone, UTC",
        "hibernate.type.preferred_instant_jdbc_type, INSTANT",
        "hibernate.type.preferred_instant_jdbc_type, TIMESTAMP",
        "hibernate.timezone.default_storage, NORMALIZE",
        "hibernate.type.java_time_use_direct_jdbc, true"
    })
    void settingsOfHibernateShiftNothing(String property, String value) {
        assertLeaseIsRight(pool -> {}, Map.of(property, value));
    }

    @Test
    void settingsOfTheDriverShiftNothing() {
        List<String> settings = switch (database.kind()) {
            case H2_MEMORY, H2_FILE, H2_TCP -> List.of(";TIME ZONE=UTC", ";TIME ZONE=America/New_York");
            case POSTGRESQL -> List.of("?options=-c%20TimeZone=America/St_Johns", "?binaryTransfer=false");
            case MARIADB ->
                List.of(
                        "&connectionTimeZone=SERVER",
                        "&connectionTimeZone=-03:30",
                        "&connectionTimeZone=-03:30&forceConnectionTimeZoneToSession=true",
                        "&preserveInstants=true",
                        "&useServerPrepStmts=true");
            case MYSQL ->
                List.of(
                        "&connectionTimeZone=SERVER",
                        "&connectionTimeZone=-03:30",
                        "&connectionTimeZone=-03:30&forceConnectionTimeZoneToSession=true",
                        "&preserveInstants=false",
                        "&sendFractionalSeconds=false",
                        "&useServerPrepStmts=true&cachePrepStmts=true");
        };
        for (String setting : settings) {
            assertLeaseIsRight(pool -> pool.setJdbcUrl(pool.getJdbcUrl() + setting), Map.of());
        }
    }

    private void assertLeaseIsRight(Consumer<HikariConfig> customizer, Map<String, ?> properties) {
        database.execute("delete from distributed_lock");
        try (TestApplication shifted = TestApplication.on(database, customizer, properties)) {
            Instant earliest = TestSql.clock(database);
            LockEntity row = shifted.grant("job", "me", LEASE);
            LockSnapshot snapshot = shifted.read("job");
            Instant latest = TestSql.clock(database);

            assertThat(earliest).isCloseTo(Instant.now(), within(5, ChronoUnit.SECONDS));
            assertThat(snapshot.dbNow()).isBetween(earliest, latest);
            assertThat(row.version()).isBetween(micros(earliest), micros(latest));
            assertThat(row.acquiredAt()).isBetween(earliest, latest);
            assertThat(row.expiresAt())
                    .isBetween(earliest.plus(LEASE), latest.plus(LEASE))
                    .isEqualTo(database.queryForString(TestSql.instant(database.kind(), "expires_at", "job")));
            // No zone is less than a quarter of an hour from another.
            assertThat(idle(shifted, LEASE.plusMinutes(10))).containsExactly("job");
            assertThat(idle(shifted, LEASE.minusMinutes(10))).isEmpty();
            assertThat(shifted.<Boolean>call(locks -> locks.extend(row, row.reentered(), LEASE.plus(LEASE))))
                    .isTrue();
            assertThat(shifted.read("job").row().expiresAt())
                    .isAfterOrEqualTo(earliest.plus(LEASE).plus(LEASE));
        }
    }

    private static List<String> idle(TestApplication application, Duration sinceFromNow) {
        return application.call(locks -> application.store().pages().idle("", Micros.of(sinceFromNow), 10).stream()
                .map(LockEntity::name)
                .toList());
    }

    private static long micros(Instant instant) {
        return ChronoUnit.MICROS.between(Instant.EPOCH, instant);
    }
}
