package io.github.holdfast.repository.rows;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.entity.LockAvailability;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.store.OtherClient;
import io.github.holdfast.repository.store.TestApplication;
import io.github.holdfast.repository.store.TestSql;
import io.github.holdfast.repository.store.TestThreads;
import io.github.holdfast.test.ClockedDatabase;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneRules;
import java.util.Comparator;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A server whose local time skips a part of an hour, or has it twice. */
@TestInstance(Lifecycle.PER_CLASS)
abstract class ClockChangeContract {

    private static final Duration LEASE = Duration.ofMinutes(2);
    private static final Duration SHORT_LEASE = Duration.ofMillis(300);

    private final TestDatabase kind;
    private final ZoneId zone;
    private ClockedDatabase server;

    ClockChangeContract(TestDatabase kind, ZoneId zone) {
        this.kind = kind;
        this.zone = zone;
    }

    @BeforeAll
    void startServer() throws InterruptedException {
        server = ClockedDatabase.start(kind, firstMoment().minusDays(1), zone);
    }

    @AfterAll
    void endServer() {
        if (server != null) { // Not where there is no libfaketime.
            server.close();
        }
    }

    private LocalDateTime firstMoment() {
        return moments().findFirst().orElseThrow();
    }

    /** Of a gap and of an overlap, in UTC: what the local clocks show then taken for UTC, and just before the change. */
    Stream<LocalDateTime> moments() {
        return changes()
                .flatMap(change -> Stream.of(
                        earlier(change.getDateTimeBefore(), change.getDateTimeAfter())
                                .plusMinutes(10),
                        LocalDateTime.ofInstant(change.getInstant(), ZoneOffset.UTC)
                                .minusMinutes(5)))
                .sorted();
    }

    /** The next gap and the next overlap. */
    Stream<ZoneOffsetTransition> changes() {
        ZoneRules rules = zone.getRules();
        ZoneOffsetTransition first = rules.nextTransition(Instant.parse("2026-01-01T00:00:00Z"));
        return Stream.of(first, rules.nextTransition(first.getInstant()));
    }

    private static LocalDateTime earlier(LocalDateTime one, LocalDateTime other) {
        return Stream.of(one, other).min(Comparator.naturalOrder()).orElseThrow();
    }

    @ParameterizedTest
    @MethodSource("moments")
    void leaseIsRight(LocalDateTime utc) throws InterruptedException {
        server.set(utc);
        try (TestApplication application = application()) {
            Instant earliest = clock();
            LockEntity row = application.grant("job", "me", LEASE);
            LockSnapshot seen = application.read("job");
            Instant latest = clock();

            assertThat(earliest).isCloseTo(utc.toInstant(ZoneOffset.UTC), within(1, ChronoUnit.MINUTES));
            assertThat(seen.dbNow()).isBetween(earliest, latest);
            assertThat(row.acquiredAt()).isBetween(earliest, latest).isEqualTo(column("acquired_at"));
            assertThat(row.expiresAt())
                    .isBetween(earliest.plus(LEASE), latest.plus(LEASE))
                    .isEqualTo(column("expires_at"));
            assertThat(row.version()).isBetween(micros(earliest), micros(latest));
            assertThat(row.fencingToken()).isBetween(micros(earliest), micros(latest));
            assertThat(seen.availability("me", null, Duration.ZERO)).isEqualTo(LockAvailability.HELD_BY_CLAIMANT);
            assertThat(seen.availability("other", null, Duration.ZERO)).isEqualTo(LockAvailability.HELD_BY_OTHER);

            Duration longer = LEASE.multipliedBy(2);
            assertThat(application.<Boolean>call(locks -> locks.extend(row, row.reentered(), longer)))
                    .isTrue();
            assertThat(application.read("job").row().expiresAt())
                    .isBetween(earliest.plus(longer), clock().plus(longer))
                    .isEqualTo(column("expires_at"));
        }
    }

    @ParameterizedTest
    @MethodSource("moments")
    void leaseEnds(LocalDateTime utc) throws InterruptedException {
        server.set(utc);
        try (TestApplication application = application()) {
            LockEntity row = application.grant("job", "me", SHORT_LEASE);
            await().until(() ->
                    application.read("job").availability("other", null, Duration.ZERO) == LockAvailability.FREE);

            assertThat(clock()).isAfterOrEqualTo(row.expiresAt());
            assertThat(application.<Boolean>call(locks -> locks.extend(row, row.reentered(), LEASE)))
                    .isFalse();
        }
    }

    /** The write begins before the change and happens after it. */
    @ParameterizedTest
    @MethodSource("changes")
    void leaseIsRightWhenTheChangeHappensDuringTheWrite(ZoneOffsetTransition change) throws Exception {
        LocalDateTime utc = LocalDateTime.ofInstant(change.getInstant(), ZoneOffset.UTC);
        server.set(utc.minusMinutes(5));
        try (TestApplication application = application();
                OtherClient holder = OtherClient.of(server.database());
                TestThreads threads = new TestThreads()) {
            LockEntity row = application.create("job");
            holder.query(TestSql.lockRow("job"));
            server.set(utc.minusSeconds(4));
            assertThat(holder.clock()).isBefore(change.getInstant());
            Future<Boolean> waiting = threads.start(() -> application.call(locks -> grant(locks, row)));
            Future<Long> naive = threads.start(this::naiveElapsedMicros);
            await().until(() -> clock().isAfter(change.getInstant().plusSeconds(1)));
            Instant unlocked = clock();
            holder.commit();
            assertThat(waiting.get(60, TimeUnit.SECONDS)).isTrue();

            LockSnapshot seen = application.read("job");
            assertThat(seen.dbNow()).isBetween(unlocked, clock());
            assertThat(seen.row().acquiredAt()).isBetween(unlocked, seen.dbNow());
            assertThat(seen.row().expiresAt())
                    .isBetween(unlocked.plus(LEASE), seen.dbNow().plus(LEASE));
            assertThat(seen.row().availableAt())
                    .isBetween(unlocked.plus(LEASE), seen.dbNow().plus(LEASE));
            assertThatTheChangeWasInTheWay(change, naive.get(60, TimeUnit.SECONDS));
        }
    }

    /** On MariaDB and MySQL without the second statement that follows a wait: one must be enough there. */
    private boolean grant(TransactionalLockRows locks, LockEntity row) {
        if (kind == TestDatabase.POSTGRESQL) {
            return locks.grant(row, row.granted("me", null, null), LEASE, LEASE);
        }
        long micros = LEASE.toSeconds() * 1_000_000;
        long token = row.fencingToken();
        return TestApplication.queries(locks)
                        .grant("job", row.version(), token, null, "me", null, null, token + 1, micros, micros)
                == 1;
    }

    /** What a statement that runs across the change takes for its own duration if it believes the session's clock. */
    private long naiveElapsedMicros() {
        return kind == TestDatabase.POSTGRESQL
                ? 0
                : server.database()
                        .queryForLong("select timestampdiff(microsecond, now(6), sysdate(6))"
                                + " from (select sleep(6)) as slept");
    }

    private void assertThatTheChangeWasInTheWay(ZoneOffsetTransition change, long naive) {
        if (kind != TestDatabase.POSTGRESQL) {
            assertThat(Duration.of(naive, ChronoUnit.MICROS).minus(change.getDuration()))
                    .isBetween(Duration.ofSeconds(5), Duration.ofSeconds(15));
        }
    }

    /** The driver of PostgreSQL would give its sessions the zone of this JVM. */
    private TestApplication application() {
        Database database = server.database();
        TestApplication application = TestApplication.on(
                database,
                pool -> pool.setConnectionInitSql(
                        kind == TestDatabase.POSTGRESQL ? "set time zone '" + zone + "'" : "select 1"));
        database.execute("delete from distributed_lock");
        return application;
    }

    private Instant clock() {
        return TestSql.clock(server.database());
    }

    private Instant column(String column) {
        return Instant.parse(
                requireNonNull(server.database().queryForString(TestSql.instant(kind, column, "job")), column));
    }

    private static long micros(Instant instant) {
        return ChronoUnit.MICROS.between(Instant.EPOCH, instant);
    }
}
