package io.github.holdfast.repository.store;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariConfig;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.test.Database;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The operations are right at every isolation level; what a level adds to them is a conflict, which is named so. */
public abstract class IsolationContract {

    private static final Duration LEASE = Duration.ofSeconds(30);

    private Database database;

    @BeforeEach
    void emptyTable(Database injected) {
        database = injected;
        LockSchema.on(database.dataSource()).createIfMissing();
        database.execute("delete from distributed_lock");
    }

    /** For leaves that connect in another way. */
    void configure(HikariConfig pool) {}

    /** The level that every connection has; MySQL and MariaDB default to the second, the others to the first. */
    public enum Level {
        TRANSACTION_READ_COMMITTED,
        TRANSACTION_REPEATABLE_READ,
        TRANSACTION_SERIALIZABLE
    }

    TestApplication application(Level level) {
        TestApplication application = TestApplication.on(database, pool -> {
            pool.setTransactionIsolation(level.name());
            configure(pool);
        });
        // The check at start-up has to pass at this level too.
        LockStore.open(application.entityManagerFactory());
        return application;
    }

    @ParameterizedTest
    @EnumSource(Level.class)
    void noGrantIsLostInContention(Level level) throws Exception {
        try (TestApplication application = application(level);
                TestThreads threads = new TestThreads()) {
            LockEntity before = application.create("job");
            List<Integer> granted = threads.together(8, () -> {
                int count = 0;
                for (int attempt = 0; attempt < 10; attempt++) {
                    count += outcomeOf(() -> readAndGrant(application)).equals(true) ? 1 : 0;
                }
                return count;
            });
            LockEntity row = application.read("job").row();
            int grants = granted.stream().mapToInt(Integer::intValue).sum();

            assertThat(grants).isPositive();
            assertThat(row.fencingToken()).isEqualTo(before.fencingToken() + grants);
            assertThat(row.version()).isEqualTo(before.version() + grants);
        }
    }

    private static boolean readAndGrant(TestApplication application) {
        return application.call(locks -> {
            LockEntity row = locks.read("job").orElseThrow().row();
            return locks.grant(row, row.granted("me", null, null), LEASE, null);
        });
    }

    @ParameterizedTest
    @EnumSource(Level.class)
    void oneRowIsCreatedInContention(Level level) throws Exception {
        try (TestApplication application = application(level);
                TestThreads threads = new TestThreads()) {
            for (int round = 0; round < 5; round++) {
                String name = "job " + round;
                List<Object> outcomes = threads.together(
                        8,
                        () -> outcomeOf(() -> {
                            application.call(locks -> locks.createIfMissing(name));
                            return true;
                        }));
                assertThat(outcomes).contains(true);
                assertThat(application.read(name).row().owner()).isNull();
            }
        }
        assertThat(database.queryForLong("select count(*) from distributed_lock"))
                .isEqualTo(5);
    }

    /** The row changes between the read and the write of one transaction. */
    @Test
    void staleSnapshotIsAMissOrAConflict() throws Exception {
        try (TestApplication application = application(Level.TRANSACTION_REPEATABLE_READ);
                OtherClient other = OtherClient.of(database)) {
            LockEntity row = application.create("job");
            Object outcome = outcomeOf(() -> application.call(locks -> {
                locks.read("job");
                other.commitUnchecked(TestSql.touch("job"));
                return locks.grant(row, row.granted("me", null, null), LEASE, null);
            }));

            assertThat(outcome).isEqualTo(outcomeOfAStaleSnapshot());
            assertThat(application.read("job").row().owner()).isNull();
        }
    }

    /** False, or the code of a conflict: PostgreSQL and H2 change only what the snapshot shows, the others the newest row. */
    Object outcomeOfAStaleSnapshot() {
        return switch (database.kind()) {
            case H2_MEMORY, H2_FILE, H2_TCP, POSTGRESQL -> "40001";
            case MARIADB, MYSQL -> false;
        };
    }

    /** Both read, then both write: PostgreSQL and H2 notice the stale snapshot, the others a deadlock of read locks. */
    @Test
    void oneOfTwoSerializableTransactionsHasAConflict() throws Exception {
        CyclicBarrier bothHaveRead = new CyclicBarrier(2);
        try (TestApplication application = application(Level.TRANSACTION_SERIALIZABLE);
                TestThreads threads = new TestThreads()) {
            LockEntity row = application.create("job");
            List<Object> outcomes = threads.together(
                    2,
                    () -> outcomeOf(() -> application.call(locks -> {
                        locks.read("job");
                        await(bothHaveRead);
                        return locks.grant(row, row.granted("me", null, null), LEASE, null);
                    })));
            String conflict = switch (database.kind()) {
                case H2_MEMORY, H2_FILE, H2_TCP, POSTGRESQL -> "40001";
                case MARIADB, MYSQL -> "1213";
            };

            assertThat(outcomes).containsExactlyInAnyOrder(true, conflict);
            assertThat(application.read("job").row().fencingToken()).isEqualTo(row.fencingToken() + 1);
        }
    }

    /** What the call returned, or the database's code if it was a conflict; any other failure is thrown. */
    Object outcomeOf(Callable<Boolean> call) throws Exception {
        try {
            return call.call();
        } catch (StoreException failure) {
            assertThat(failure.failure()).as(failure::toString).isIn(Failure.CONFLICT, Failure.DEADLOCK);
            return TestSql.code(database.kind(), failure);
        }
    }

    private static void await(CyclicBarrier barrier) {
        try {
            barrier.await(60, TimeUnit.SECONDS);
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }
}
