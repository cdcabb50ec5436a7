package io.github.holdfast.repository.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariConfig;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.repository.TestGuest;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import io.github.holdfast.test.jdbc.FaultyDataSource.Fault;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every error that a database can answer with, provoked, and what the store says that it means. */
@OnEachDatabase
@TestInstance(Lifecycle.PER_CLASS)
class ErrorClassificationTest {

    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final Duration LONG = Duration.ofSeconds(60);

    /** While it waits for a row, H2 notices neither a timeout nor that it was cancelled. */
    private static final String SLOW_ON_H2 = "select sum(x) from system_range(1, 1000000000)";

    private Database database;
    private TestApplication application;

    @BeforeAll
    void open(Database injected) {
        database = injected;
        application = TestApplication.on(database, this::waitLong);
    }

    /** So that a statement that waits for a row is ended by the test and not by H2, which waits for 2 s. */
    private void waitLong(HikariConfig pool) {
        pool.setConnectionInitSql(TestSql.waitForRowsAtMost(database.kind(), LONG));
    }

    @AfterAll
    void close() {
        application.close();
    }

    @BeforeEach
    void deleteRows() {
        database.execute("delete from distributed_lock");
    }

    // Another transaction has the row

    @Test
    void waitingTooLongForARowIsBusy() throws Exception {
        LockEntity row = application.create("job");
        try (TestApplication impatient = TestApplication.on(
                        database,
                        pool -> pool.setConnectionInitSql(
                                TestSql.waitForRowsAtMost(database.kind(), Duration.ofSeconds(1))));
                OtherClient other = OtherClient.lockingRow(database, "job")) {
            StoreException failure = failureOf(() -> grant(impatient, row));

            assertFailure(failure, Failure.BUSY, new Codes("50200", "55P03", "1205", "1205"));
            assertThat(failureOf(() -> impatient.call(locks -> locks.findForUpdate("job")))
                            .failure())
                    .isEqualTo(Failure.BUSY);
            other.commit();
            assertThat(grant(impatient, row)).isTrue();
        }
    }

    @Test
    void refusalToWaitIsBusy() throws Exception {
        application.create("job");
        try (OtherClient other = OtherClient.lockingRow(database, "job")) {
            StoreException failure = failureOf(() -> application.call(locks ->
                    application.query("select name from distributed_lock where name = 'job' for update nowait")));

            assertFailure(failure, Failure.BUSY, new Codes("50200", "55P03", "1205", "3572"));
            other.commit();
        }
    }

    /** The time that the caller gives is a limit for the statement everywhere but on H2. */
    @Test
    void statementThatTakesTooLongIsBusy() throws Exception {
        LockEntity row = application.create("job");
        Duration waitOfH2 = Duration.ofSeconds(3);
        try (TestApplication patient = TestApplication.on(
                        database,
                        pool -> pool.setConnectionInitSql(TestSql.waitForRowsAtMost(
                                database.kind(), database.kind().isH2() ? waitOfH2 : LONG)));
                OtherClient other = OtherClient.lockingRow(database, "job")) {
            long start = System.nanoTime();
            StoreException failure = failureOf(() -> patient.store().inTransaction(Duration.ofMillis(700), locks -> {
                LockEntity granted = row.granted("me", null, null);
                return locks.grant(row, granted, LEASE, null);
            }));
            Duration waited = Duration.ofNanos(System.nanoTime() - start);

            assertFailure(failure, Failure.BUSY, new Codes("50200", "57014", "1969", "0"));
            assertThat(waited)
                    .isBetween(database.kind().isH2() ? waitOfH2 : Duration.ofSeconds(1), Duration.ofSeconds(50));
            other.commit();
        }
        assertUnchanged(row);
    }

    /** Hibernate sets H2's limit back, because there the driver's limit of one statement is that of the session. */
    @Test
    void timeoutOfTheServerIsBusy() throws Exception {
        application.create("job");
        try (TestApplication limited = TestApplication.on(
                        database,
                        pool -> pool.setConnectionInitSql(
                                TestSql.statementTakesAtMost(database.kind(), Duration.ofMillis(500))));
                OtherClient holder = OtherClient.lockingRow(database, "job")) {
            // On MariaDB the limit of the caller takes the place of the server's.
            StoreException failure = failureOf(() -> limited.store()
                    .inTransaction(
                            Duration.ofSeconds(2),
                            locks -> database.kind().isH2()
                                    ? limited.queryFor(1, SLOW_ON_H2)
                                    : locks.findForUpdate("job")));

            assertFailure(failure, Failure.BUSY, new Codes("57014", "57014", "1969", "3024"));
            holder.commit();
        }
    }

    @Test
    void pauseBetweenStatementsIsNotTheDatabases() {
        LockEntity row = application.create("job");
        long start = System.nanoTime();
        boolean superseded = application.store().inTransaction(Duration.ofSeconds(1), locks -> {
            locks.read("job");
            Awaitility.await()
                    .until(() ->
                            System.nanoTime() - start > Duration.ofMillis(1100).toNanos());
            return locks.supersede("job", row.version());
        });

        assertThat(superseded).isTrue();
    }

    @Test
    void cancelledStatementIsBusy() throws Exception {
        LockEntity row = application.create("job");
        try (OtherClient holder = OtherClient.lockingRow(database, "job");
                OtherClient administrator = OtherClient.of(database);
                TestThreads threads = new TestThreads()) {
            CompletableFuture<Object> session = new CompletableFuture<>();
            Future<?> statement = threads.start(() -> database.kind().isH2()
                    ? sumOnSession(application, session)
                    : grantOnSession(application, row, session));
            String cancel = TestSql.cancelStatement(database.kind(), session.get(60, TimeUnit.SECONDS));
            Awaitility.await().pollInSameThread().until(() -> {
                administrator.execute(cancel);
                return statement.isDone();
            });

            assertThat(failuresOf(List.of(statement)))
                    .singleElement()
                    .satisfies(failure ->
                            assertFailure(failure, Failure.BUSY, new Codes("57014", "57014", "1317", "1317")));
            holder.commit();
        }
        assertUnchanged(row);
    }

    // Another transaction was faster

    @Test
    void victimOfADeadlockIsToldSo() throws Exception {
        List<LockEntity> rows = List.of(application.create("a"), application.create("b"));
        CyclicBarrier bothHaveOne = new CyclicBarrier(2);
        try (TestThreads threads = new TestThreads()) {
            List<Future<Boolean>> clients = List.of(
                    threads.start(() -> supersedeBoth(rows.get(0), rows.get(1), bothHaveOne)),
                    threads.start(() -> supersedeBoth(rows.get(1), rows.get(0), bothHaveOne)));
            assertThat(failuresOf(clients))
                    .singleElement()
                    .satisfies(victim ->
                            assertFailure(victim, Failure.DEADLOCK, new Codes("40001", "40P01", "1213", "1213")));
        }
        for (LockEntity row : rows) {
            assertThat(application.read(row.name()).row().version()).isEqualTo(row.version() + 1);
        }
    }

    private boolean supersedeBoth(LockEntity first, LockEntity second, CyclicBarrier bothHaveOne) {
        return application.call(locks -> {
            boolean one = locks.supersede(first.name(), first.version());
            await(bothHaveOne);
            boolean other = locks.supersede(second.name(), second.version());
            return one && other;
        });
    }

    @Test
    void duplicateKeyIsAConflict() {
        LockEntity row = application.create("job");
        StoreException failure = failureOf(() -> application.call(locks -> {
            locks.supersede("job", row.version());
            application.execute("insert into distributed_lock (name, hold_count, fencing_token, version)"
                    + " values ('job', 0, 1, 1)");
            return null;
        }));

        assertFailure(failure, Failure.CONFLICT, new Codes("23505", "23505", "1062", "1062"));
        assertUnchanged(row);
    }

    // No connection

    @Test
    void endedSessionIsUnavailable() throws Exception {
        LockEntity row = application.create("job");
        try (TestApplication victim = TestApplication.on(database);
                OtherClient administrator = OtherClient.of(database)) {
            StoreException failure = failureOf(() -> victim.call(locks -> {
                locks.supersede("job", row.version());
                endSession(victim, administrator);
                return locks.read("job");
            }));

            assertThat(failure.failure()).isEqualTo(Failure.UNAVAILABLE);
        }
        assertUnchanged(row);
    }

    /** H2 notices only when it has waited for the row for as long as it does, and calls it a deadlock. */
    @Test
    void endedSessionThatWaitsForARowIsUnavailable() throws Exception {
        LockEntity row = application.create("job");
        try (TestApplication victim = TestApplication.on(database);
                OtherClient holder = OtherClient.lockingRow(database, "job");
                OtherClient administrator = OtherClient.of(database);
                TestThreads threads = new TestThreads()) {
            CompletableFuture<Object> session = new CompletableFuture<>();
            Future<Boolean> waiting = threads.start(() -> grantOnSession(victim, row, session));
            Object number = session.get(60, TimeUnit.SECONDS);
            Awaitility.await()
                    .atMost(Duration.ofSeconds(60))
                    .until(() -> database.queryForLong(TestSql.waitsForRow(database.kind(), number)) == 1);
            administrator.execute(TestSql.endSession(database.kind(), number));

            assertThat(failuresOf(List.of(waiting)))
                    .singleElement()
                    .extracting(StoreException::failure)
                    .isEqualTo(database.kind().isH2() ? Failure.DEADLOCK : Failure.UNAVAILABLE);
            holder.commit();
        }
        assertUnchanged(row);
    }

    /** Nothing was written, but the one who commits cannot know. */
    @Test
    void sessionThatEndedBeforeTheCommitIsUnknown() throws Exception {
        LockEntity row = application.create("job");
        try (TestApplication victim = TestApplication.on(database);
                OtherClient administrator = OtherClient.of(database)) {
            StoreException failure = failureOf(() -> victim.call(locks -> {
                locks.supersede("job", row.version());
                endSession(victim, administrator);
                return null;
            }));

            assertThat(failure.failure()).isEqualTo(Failure.UNKNOWN);
        }
        assertUnchanged(row);
    }

    @Test
    void databaseThatWentAwayIsUnavailable() {
        try (Database vanishing = Database.create(database.kind());
                TestApplication victim = TestApplication.on(vanishing)) {
            StoreException failure = failureOf(() -> victim.call(locks -> {
                locks.createIfMissing("job");
                vanishing.close();
                return locks.read("job");
            }));

            assertThat(failure.failure()).isEqualTo(Failure.UNAVAILABLE);
        }
    }

    @Test
    void databaseThatRefusesConnectionsIsUnavailable() {
        FaultyDataSource faulty = new FaultyDataSource(database.dataSource());
        try (TestApplication victim = TestApplication.on(database, pool -> {
            pool.setDataSource(faulty);
            pool.setConnectionTimeout(500);
        })) {
            faulty.down();
            assertThat(failureOf(() -> victim.read("job")).failure()).isEqualTo(Failure.UNAVAILABLE);
            faulty.up();
            // The pool hands out a broken connection once more before it finds out.
            Awaitility.await().ignoreExceptions().until(() -> victim.create("job") != null);
        }
    }

    /** Without autoCommit, Hibernate asks for a connection only when there is a statement. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void poolWithoutAFreeConnectionIsExhausted(boolean autoCommit) {
        LockEntity row = application.create("job");
        try (TestApplication small = TestApplication.on(
                database,
                pool -> {
                    pool.setMaximumPoolSize(1);
                    pool.setConnectionTimeout(300);
                    pool.setAutoCommit(autoCommit);
                },
                Map.of("hibernate.connection.provider_disables_autocommit", !autoCommit))) {
            boolean outer = small.call(locks -> {
                boolean superseded = locks.supersede("job", row.version());
                assertThat(failureOf(() -> small.read("job")))
                        .hasMessageContaining("in a transaction")
                        .hasMessageContaining("holdfast.datasource.maximum-pool-size=5")
                        .extracting(StoreException::failure)
                        .isEqualTo(Failure.EXHAUSTED);
                return superseded;
            });
            assertThat(outer).isTrue();
        }
        assertThat(application.read("job").row().version()).isEqualTo(row.version() + 1);
    }

    // Faults at each step of a transaction: its statement, then its commit

    @ParameterizedTest
    @EnumSource(Fault.class)
    void connectionThatBreaksAtTheStatementIsUnavailable(Fault fault) {
        LockEntity row = application.create("job");
        FaultyDataSource faulty = new FaultyDataSource(database.dataSource());
        try (TestApplication victim = TestApplication.on(database, pool -> pool.setDataSource(faulty))) {
            faulty.arm(1, fault);
            StoreException failure = failureOf(() -> grant(victim, row));

            // The statement that was answered before the connection broke leaves the failure to the commit.
            assertThat(failure.failure()).isEqualTo(fault == Fault.AFTER_SEND ? Failure.UNKNOWN : Failure.UNAVAILABLE);
            assertThat(faulty.fired()).isTrue();
        }
        assertUnchanged(row);
    }

    @ParameterizedTest
    @EnumSource(Fault.class)
    void commitWithoutAnAnswerIsUnknown(Fault fault) throws Exception {
        LockEntity row = application.create("job");
        FaultyDataSource faulty = new FaultyDataSource(database.dataSource());
        try (TestApplication victim = TestApplication.on(database, pool -> pool.setDataSource(faulty))) {
            faulty.arm(2, fault);
            StoreException failure = failureOf(() -> grant(victim, row));

            assertThat(failure.failure()).isEqualTo(Failure.UNKNOWN);
            assertThat(failure.failure().isAmbiguous()).isTrue();
            assertThat(faulty.fired()).isTrue();
            if (fault == Fault.BEFORE_SEND || fault == Fault.DELAYED) {
                assertUnchanged(row);
            }
            if (fault == Fault.DELAYED) {
                faulty.land();
            }
        }
        assertThat(application.read("job").row().owner()).isEqualTo(fault == Fault.BEFORE_SEND ? null : "me");
    }

    // Repeating does not help

    @Test
    void missingTableIsNamed() {
        try (Database other = Database.create(database.kind());
                TestApplication victim = TestApplication.on(other)) {
            other.execute("drop table distributed_lock");
            StoreException failure = failureOf(() -> victim.read("job"));

            assertFailure(failure, Failure.TABLE_MISSING, new Codes("42102", "42P01", "1146", "1146"));
            assertThat(failure).hasMessageContaining("distributed_lock").hasMessageContaining(LockSchema.CHANGELOG);
            assertThat(failureOf(() -> victim.create("job")).failure()).isEqualTo(Failure.TABLE_MISSING);
        }
    }

    @Test
    void missingTableOfTheNodesIsNamed() {
        try (Database other = Database.create(database.kind());
                TestApplication victim = TestApplication.on(other)) {
            other.execute("drop table lock_node");

            assertThat(failureOf(() -> victim.read("job")))
                    .hasMessageContaining("lock_node")
                    .satisfies(failure -> assertThat(failure.failure()).isEqualTo(Failure.TABLE_MISSING));
        }
    }

    @Test
    void brokenSyntaxIsRefused() {
        StoreException failure = failureOf(() -> application.call(locks -> {
            application.execute("update distributed_lock sett version = 1");
            return null;
        }));

        assertFailure(failure, Failure.REFUSED, new Codes("42001", "42601", "1064", "1064"));
    }

    @Test
    void textThatDoesNotFitIsRefused() {
        StoreException failure = failureOf(() -> application.create("x".repeat(256)));

        assertFailure(failure, Failure.REFUSED, new Codes("22001", "22001", "1406", "1406"));
    }

    @Test
    void missingRightIsRefused() {
        LockEntity row = application.create("job");
        try (TestGuest guest = TestGuest.of(database, "select, insert, update");
                TestApplication restricted = TestApplication.on(database, guest::connect)) {
            guest.revoke("update");

            assertFailure(
                    failureOf(() -> grant(restricted, row)),
                    Failure.REFUSED,
                    new Codes("90096", "42501", "1142", "1142"));
        }
        assertUnchanged(row);
    }

    // Not from the database

    @ParameterizedTest
    @MethodSource("ownFailures")
    void failureOfTheWorkPassesUnchangedAndRollsBack(Throwable thrown) {
        LockEntity row = application.create("job");

        assertThatThrownBy(() -> application.call(locks -> {
                    assertThat(locks.supersede("job", row.version())).isTrue();
                    throw sneaky(thrown);
                }))
                .isSameAs(thrown);
        assertUnchanged(row);
    }

    static List<Throwable> ownFailures() {
        return List.of(
                new IllegalStateException("ours", new IllegalArgumentException("cause")),
                new NullPointerException(),
                new AssertionError("ours"),
                new IOException("ours"));
    }

    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private static <E extends Throwable> RuntimeException sneaky(Throwable thrown) throws E {
        throw (E) thrown;
    }

    @Test
    void nestedFailureOfTheStorePassesUnchanged() {
        LockEntity row = application.create("job");
        StoreException thrown = StoreException.overtaken();

        assertThatThrownBy(() -> application.call(locks -> {
                    locks.supersede("job", row.version());
                    throw thrown;
                }))
                .isSameAs(thrown);
        assertThat(thrown.failure()).isEqualTo(Failure.CONFLICT);
        assertUnchanged(row);
    }

    private static boolean grant(TestApplication application, LockEntity row) {
        return application.call(locks -> locks.grant(row, row.granted("me", null, null), LEASE, null));
    }

    private boolean grantOnSession(TestApplication client, LockEntity row, CompletableFuture<Object> session) {
        return client.call(locks -> {
            session.complete(client.query(TestSql.sessionId(database.kind())));
            return locks.grant(row, row.granted("me", null, null), LEASE, null);
        });
    }

    private Object sumOnSession(TestApplication client, CompletableFuture<Object> session) {
        return client.call(locks -> {
            session.complete(client.query(TestSql.sessionId(database.kind())));
            return client.query(SLOW_ON_H2);
        });
    }

    private void endSession(TestApplication victim, OtherClient administrator) {
        Object session = victim.query(TestSql.sessionId(database.kind()));
        try {
            administrator.execute(TestSql.endSession(database.kind(), session));
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    private static void await(CyclicBarrier barrier) {
        try {
            barrier.await(60, TimeUnit.SECONDS);
        } catch (InterruptedException | BrokenBarrierException | TimeoutException e) {
            throw new AssertionError(e);
        }
    }

    private void assertUnchanged(LockEntity row) {
        assertThat(application.read(row.name()).row())
                .usingRecursiveComparison()
                .isEqualTo(row);
    }

    private static StoreException failureOf(ThrowingCallable call) {
        return assertThatExceptionOfType(StoreException.class).isThrownBy(call).actual();
    }

    private static List<StoreException> failuresOf(List<? extends Future<?>> clients) throws Exception {
        List<StoreException> failures = new ArrayList<>();
        for (Future<?> client : clients) {
            try {
                client.get(60, TimeUnit.SECONDS);
            } catch (ExecutionException e) {
                failures.add((StoreException) e.getCause());
            }
        }
        return failures;
    }

    private void assertFailure(StoreException actual, Failure expected, Codes codes) {
        assertThat(actual).extracting(StoreException::failure).isEqualTo(expected);
        assertThat(TestSql.code(database.kind(), actual)).isEqualTo(codes.of(database.kind()));
    }

    /** What the databases say: the SQLState on PostgreSQL, the vendor's code on the others. */
    private record Codes(String h2, String postgresql, String mariadb, String mysql) {
        String of(TestDatabase kind) {
            return switch (kind) {
                case H2_MEMORY, H2_FILE, H2_TCP -> h2;
                case POSTGRESQL -> postgresql;
                case MARIADB -> mariadb;
                case MYSQL -> mysql;
            };
        }
    }
}
