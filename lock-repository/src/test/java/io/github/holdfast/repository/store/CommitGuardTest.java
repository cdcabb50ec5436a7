package io.github.holdfast.repository.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.rows.HolderRows;
import io.github.holdfast.repository.rows.HolderRows.Claim;
import io.github.holdfast.repository.rows.LockSnapshot;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.TestDatabase;
import jakarta.persistence.EntityManager;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.hibernate.Session;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** What the guard of a commit does to rows, where one server writes and where several do. */
@Tag(OnEachDatabase.EVERYWHERE)
@OnEachDatabase
class CommitGuardTest {

    private static final Duration LEASE = Duration.ofMinutes(5);

    private Database database;
    private TestApplication application;

    @BeforeEach
    void open(Database injected) {
        database = injected;
        application = TestApplication.on(database);
        database.execute("delete from distributed_lock", "delete from lock_holder");
    }

    @AfterEach
    void close() {
        application.close();
    }

    /** How many servers write the database at the same time. */
    enum Writers {
        ONE,
        SEVERAL
    }

    private CommitGuard guard(Writers writers) {
        CommitGuard guard = CommitGuard.of(application.entityManagerFactory(), null);
        return switch (writers) {
            case ONE -> guard;
            case SEVERAL -> guard.whereSeveralWrite();
        };
    }

    /** In a transaction at this level, which is committed. */
    private void inTransaction(int isolation, Consumer<EntityManager> work) {
        try (EntityManager entityManager = application.entityManagerFactory().createEntityManager()) {
            entityManager.unwrap(Session.class).doWork(connection -> connection.setTransactionIsolation(isolation));
            entityManager.getTransaction().begin();
            try {
                work.accept(entityManager);
                entityManager.getTransaction().commit();
            } finally {
                if (entityManager.getTransaction().isActive()) {
                    entityManager.getTransaction().rollback();
                }
            }
        }
    }

    private Grant granted(String name) {
        return Grant.of(application.grant(name, "me", LEASE));
    }

    /** Of permits of a semaphore that has this name. */
    private Grant grantedPermits(String name) {
        return application.store().inTransaction(LEASE, () -> {
            HolderRows permits = application.store().permits();
            permits.createIfMissing(name, 9);
            long version = permits.usage(name).orElseThrow().version();
            Claim claim = new Claim(name, "owner " + version, null, 2, LEASE, null);
            return permits.grant(claim, version).orElseThrow();
        });
    }

    /** MariaDB 10.11 and 11.4 read the whole table for a few names of a small one, and lock what they read. */
    @ParameterizedTest
    @CsvSource({"1, 6", "4, 6", "5, 6", "5, 12", "10, 30", "12, 12", "50, 200"})
    void onlyTheRowsOfTheGrantsAreLocked(int held, int rows) {
        List<Grant> grants = new ArrayList<>(IntStream.range(0, held)
                .mapToObj(i -> granted("job " + (100 + i) + " held"))
                .toList());
        Collections.reverse(grants);
        database.execute(IntStream.range(held, rows)
                .mapToObj(i -> "insert into distributed_lock (name, hold_count, fencing_token, version) values ('job "
                        + (100 + i) + " other', 0, 1, 1)")
                .toArray(String[]::new));
        inTransaction(Connection.TRANSACTION_REPEATABLE_READ, entityManager -> {
            assertThat(guard(Writers.ONE).check(grants, entityManager)).isEmpty();
            try (OtherClient other = OtherClient.of(database)) {
                other.execute(TestSql.waitForRowsAtMost(database.kind(), Duration.ofSeconds(1)));
                for (int i = held; i < rows; i++) {
                    other.execute(TestSql.touch("job " + (100 + i) + " other"));
                }
                for (int i = 0; i < rows; i++) {
                    other.execute(
                            "insert into distributed_lock (name, hold_count, fencing_token, version) values ('job "
                                    + (100 + i) + " in the gap', 0, 1, 1)");
                }
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        });
    }

    /** One condition for all of them overflowed the stack. */
    @Test
    void tenThousandGrantsAreCheckedInBatches() throws Exception {
        List<Grant> grants = IntStream.range(0, 10_000)
                .mapToObj(i -> new Grant(Grant.Kind.LOCK, "job " + i, "me", 1))
                .toList();
        try (Connection connection = database.dataSource().getConnection();
                PreparedStatement insert = connection.prepareStatement("insert into distributed_lock"
                        + " (name, owner, hold_count, fencing_token, version, expires_at, guard_count)"
                        + " values (?, 'me', 1, 1, 1, '2100-01-01 00:00:00', 0)")) {
            connection.setAutoCommit(false);
            for (Grant grant : grants) {
                insert.setString(1, grant.name());
                insert.addBatch();
            }
            insert.executeBatch();
            connection.commit();
        }
        database.execute("update distributed_lock set fencing_token = 2 where name = 'job 5000'");
        CommitGuard guard = guard(Writers.ONE);
        inTransaction(Connection.TRANSACTION_READ_COMMITTED, entityManager -> {
            application.dataSource().reset();
            assertThat(guard.check(grants, entityManager)).containsExactly(grants.get(5000));
            assertThat(application.dataSource().statements())
                    .as("and one that looks why a grant does not stand")
                    .isEqualTo(1 + (database.kind() == TestDatabase.MARIADB ? 10_000 : 200));
        });
    }

    @ParameterizedTest
    @EnumSource(Writers.class)
    void standingGrantsAreFoundAsOftenAsOneLooks(Writers writers) {
        Grant first = granted("first");
        Grant second = granted("second");
        Grant permits = grantedPermits("permits");
        Grant more = grantedPermits("permits");
        database.execute("update lock_holder set guard_count = 0", "update distributed_lock set guard_count = 0");
        inTransaction(Connection.TRANSACTION_REPEATABLE_READ, entityManager -> {
            for (int look = 0; look < 3; look++) {
                assertThat(guard(writers).check(List.of(more, second, permits, first), entityManager))
                        .isEmpty();
            }
        });
        assertThat(database.queryForLong("select sum(guard_count) from lock_holder"))
                .isEqualTo(writers == Writers.SEVERAL ? 6 : 0);
        assertThat(database.queryForLong("select sum(guard_count) from distributed_lock"))
                .isEqualTo(writers == Writers.SEVERAL ? 6 : 0);
    }

    /** Releases, renewals and takeovers are decided on the version. */
    @ParameterizedTest
    @EnumSource(Writers.class)
    void guardLeavesTheVersion(Writers writers) {
        Grant grant = granted("job");
        LockSnapshot before = application.read("job");
        inTransaction(
                Connection.TRANSACTION_READ_COMMITTED,
                entityManager -> assertThat(guard(writers).check(List.of(grant), entityManager))
                        .isEmpty());

        assertThat(application.read("job").row().version())
                .isEqualTo(before.row().version());
        assertThat(application.<Boolean>call(
                        locks -> locks.release(before.row(), before.row().released())))
                .isTrue();
    }

    @ParameterizedTest
    @EnumSource(Writers.class)
    void grantsThatAreOverAreTold(Writers writers) {
        Grant standing = granted("standing");
        Grant former = granted("taken");
        Grant deleted = granted("deleted");
        granted("taken");
        Grant held = grantedPermits("permits");
        Grant released = grantedPermits("permits");
        database.execute(
                "delete from distributed_lock where name = 'deleted'",
                "delete from lock_holder where fencing_token = " + released.fencingToken());
        inTransaction(
                Connection.TRANSACTION_READ_COMMITTED,
                entityManager -> assertThat(
                                guard(writers).check(List.of(released, deleted, held, former, standing), entityManager))
                        .containsExactly(released, deleted, former));
    }

    /** What was read then may be older than what was committed under the grant before. */
    @ParameterizedTest
    @EnumSource(Writers.class)
    void grantThatTheTransactionCannotSeeIsAConflict(Writers writers) {
        application.create("job");
        assertIsUnseen(writers, () -> granted("job"));
    }

    @ParameterizedTest
    @EnumSource(Writers.class)
    void permitsThatTheTransactionCannotSeeAreAConflict(Writers writers) {
        grantedPermits("semaphore");
        assertIsUnseen(writers, () -> grantedPermits("semaphore"));
    }

    private void assertIsUnseen(Writers writers, Supplier<Grant> later) {
        inTransaction(Connection.TRANSACTION_REPEATABLE_READ, entityManager -> {
            entityManager
                    .createQuery("select count(*) from HoldfastLock l", Long.class)
                    .getSingleResult();
            entityManager
                    .createQuery("select count(*) from HoldfastHolder h", Long.class)
                    .getSingleResult();
            Grant grant = later.get();
            switch (database.kind()) {
                // They lock and change the newest row, whatever the snapshot.
                case MARIADB, MYSQL ->
                    assertThat(guard(writers).check(List.of(grant), entityManager))
                            .isEmpty();
                case POSTGRESQL, H2_MEMORY, H2_FILE, H2_TCP ->
                    assertThatExceptionOfType(StoreException.class)
                            .isThrownBy(() -> guard(writers).check(List.of(grant), entityManager))
                            .satisfies(failed ->
                                    assertThat(failed.failure().isConflict()).isTrue());
            }
        });
    }
}
