package io.github.holdfast.repository.rows;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariConfig;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.store.OtherClient;
import io.github.holdfast.repository.store.StoreUnderTest;
import io.github.holdfast.repository.store.TestApplication;
import io.github.holdfast.repository.store.TestSql;
import io.github.holdfast.repository.store.TestThreads;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.jdbc.CountingDataSource;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The rows of the locks on a database: its row locks, its columns, and what each call costs. */
@Tag(OnEachDatabase.EVERYWHERE)
@OnEachDatabase
class LockRepositoryTest extends LockRowsContract {

    private final Database database;
    private final TestApplication onDatabase;

    LockRepositoryTest(Database database) {
        this.database = database;
        onDatabase = TestApplication.on(database, this::configure, Map.of("hibernate.hbm2ddl.auto", "validate"));
        application = onDatabase;
    }

    /** For leaves that connect in another way. */
    void configure(HikariConfig pool) {}

    @Test
    void instantsAreExactToTheMicrosecond() {
        application.create("job");
        LockEntity row = application.read("job").row();
        LockEntity after = row.granted("me", null, null);
        application.call(locks -> locks.grant(row, after, LEASE, LEASE.plusNanos(123_456_000)));
        LockEntity granted = application.read("job").row();

        assertThat(granted.acquiredAt()).isEqualTo(column("acquired_at"));
        assertThat(granted.expiresAt()).isEqualTo(column("expires_at"));
        assertThat(granted.availableAt()).isEqualTo(column("available_at"));
        assertThat(granted.availableAt())
                .isEqualTo(requireNonNull(granted.availableAt()).truncatedTo(ChronoUnit.MICROS));
    }

    private Instant column(String column) {
        return Instant.parse(
                requireNonNull(database.queryForString(TestSql.instant(database.kind(), column, "job")), column));
    }

    @Test
    void findForUpdateWaitsForTheOtherTransaction() throws Exception {
        assertFindForUpdateWaits(application);
    }

    private void assertFindForUpdateWaits(StoreUnderTest application) throws Exception {
        LockEntity row = application.create("job");
        try (OtherClient other = OtherClient.of(database);
                TestThreads threads = new TestThreads()) {
            other.execute(TestSql.touch("job"));
            Future<Optional<LockEntity>> found =
                    threads.start(() -> application.call(locks -> locks.findForUpdate("job")));
            assertThatThrownBy(() -> found.get(300, TimeUnit.MILLISECONDS)).isInstanceOf(TimeoutException.class);
            other.commit();

            assertThat(found.get(60, TimeUnit.SECONDS))
                    .get()
                    .extracting(LockEntity::version)
                    .isEqualTo(row.version() + 1);
        }
    }

    /** Hibernate makes a statement of 0 that does not wait, and of -2 one that skips the row. */
    @ParameterizedTest
    @ValueSource(strings = {"0", "-2"})
    void findForUpdateWaitsWhateverLockTimeoutIsSetForTheUnit(String lockTimeout) throws Exception {
        try (TestApplication impatient = TestApplication.on(
                database, this::configure, Map.of("jakarta.persistence.lock.timeout", lockTimeout))) {
            assertFindForUpdateWaits(impatient);
        }
    }

    @Test
    void findForUpdateKeepsOthersOutUntilTheTransactionEnds() throws Exception {
        application.create("job");
        try (OtherClient other = OtherClient.of(database);
                TestThreads threads = new TestThreads()) {
            Future<?> write = application.call(locks -> {
                locks.findForUpdate("job");
                Future<?> waiting = threads.start(() -> {
                    other.execute(TestSql.touch("job"));
                    return null;
                });
                assertThatThrownBy(() -> waiting.get(300, TimeUnit.MILLISECONDS))
                        .isInstanceOf(TimeoutException.class);
                return waiting;
            });
            write.get(60, TimeUnit.SECONDS);
        }
    }

    @Test
    void skipLockedPassesOverALockedRow() throws Exception {
        application.create("job");
        try (OtherClient other = OtherClient.lockingRow(database, "job")) {
            assertThatNoException()
                    .as("it waits for nobody")
                    .isThrownBy(() -> assertThat(application.<Optional<LockEntity>>call(
                                    locks -> locks.findForUpdateSkipLocked("job")))
                            .isEmpty());
            other.commit();
        }
        assertThat(application.<Optional<LockEntity>>call(locks -> locks.findForUpdateSkipLocked("job")))
                .isPresent();
    }

    @Test
    void findForUpdateShowsTheNewestRowAlthoughItWasReadBefore() throws Exception {
        LockEntity row = application.create("job");
        try (OtherClient other = OtherClient.of(database)) {
            LockEntity locked = application.call(locks -> {
                assertThat(TestApplication.queries(locks).read("job")).isPresent();
                other.commitUnchecked(TestSql.touch("job"));
                return locks.findForUpdate("job").orElseThrow();
            });

            assertThat(locked.version()).isEqualTo(row.version() + 1);
        }
    }

    @Test
    void readDoesNotWaitForALockedRow() throws Exception {
        LockEntity row = application.create("job");
        try (OtherClient other = OtherClient.of(database)) {
            other.execute(TestSql.touch("job"));

            assertUnchanged(row);
        }
    }

    // Statements

    @Test
    void readIsOneQuery() {
        application.create("job");

        assertThat(sqlOf(locks -> locks.read("job")))
                .singleElement()
                .satisfies(sql -> assertThat(sql).startsWith("select ").doesNotContain("for "));
    }

    @Test
    void createIsOneInsert() {
        List<String> sql = sqlOf(locks -> locks.createIfMissing("job"));
        assertThat(sql.get(sql.size() - 1)).startsWith("insert into distributed_lock");
        // MySQL and MariaDB would lock the holders that the insert reads.
        boolean areHoldersCounted =
                Set.of(TestDatabase.MYSQL, TestDatabase.MARIADB).contains(database.kind());
        assertThat(sql.subList(0, sql.size() - 1))
                .hasSize(areHoldersCounted ? 1 : 0)
                .allMatch(before -> before.startsWith("select count(*) from lock_holder"));
    }

    @Test
    void eachLockingQueryIsOneQuery() {
        application.create("job");

        for (Function<TransactionalLockRows, Object> way : List.<Function<TransactionalLockRows, Object>>of(
                locks -> locks.findForUpdate("job"), locks -> locks.findForUpdateSkipLocked("job"))) {
            assertThat(sqlOf(way))
                    .singleElement()
                    .satisfies(sql -> assertThat(sql).startsWith("select ").matches(".* for (no key )?update.*"));
        }
    }

    @Test
    void eachWriteIsOneUpdateOfTheVersionThatWasRead() {
        LockEntity free = application.create("job");
        LockEntity granted = free.granted("me", null, null);
        assertOneUpdate(locks -> locks.grant(free, granted, LEASE, null));
        assertOneUpdate(locks -> locks.extend(granted, granted.reentered(), LEASE));
        LockEntity reentered = granted.reentered();
        assertOneUpdate(locks -> locks.release(reentered, reentered.released()));
        LockEntity released = reentered.released();
        assertOneUpdate(locks -> locks.release(released, released.released()));
        assertOneUpdate(locks -> locks.supersede("job", released.released().version()));
    }

    private void assertOneUpdate(Function<TransactionalLockRows, Boolean> write) {
        assertThat(sqlOf(locks -> {
                    assertThat(write.apply(locks)).isTrue();
                    return true;
                }))
                .singleElement()
                .satisfies(sql -> assertThat(sql)
                        .startsWith("update distributed_lock ")
                        .matches(".* where (\\w+\\.)?name=\\? and (\\w+\\.)?version<?=\\?.*"));
        assertThat(onDatabase.dataSource().commits()).isEqualTo(1);
    }

    private List<String> sqlOf(Function<TransactionalLockRows, ?> work) {
        CountingDataSource counting = onDatabase.dataSource();
        counting.reset();
        application.call(work);
        return counting.sql();
    }
}
