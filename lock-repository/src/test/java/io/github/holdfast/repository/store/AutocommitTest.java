package io.github.holdfast.repository.store;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.repository.rows.LockRows;
import io.github.holdfast.repository.rows.LockSnapshot;
import io.github.holdfast.repository.wakeup.WaitingNodesCache;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import io.github.holdfast.test.jdbc.FaultyDataSource.Fault;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.hibernate.boot.model.naming.Identifier;
import org.hibernate.boot.model.naming.PhysicalNamingStrategyStandardImpl;
import org.hibernate.engine.jdbc.env.spi.JdbcEnvironment;
import org.hibernate.resource.jdbc.spi.StatementInspector;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/** Calls that are a transaction each: what they do, what they cost, and what their errors mean. */
@Tag(OnEachDatabase.EVERYWHERE)
@OnEachDatabase
class AutocommitTest {

    private static final Duration AT_MOST = Duration.ofSeconds(20);
    private static final Duration LEASE = Duration.ofSeconds(30);

    private Database database;

    @BeforeEach
    void open(Database injected) {
        database = injected;
        LockSchema.on(database.dataSource()).createIfMissing();
        database.execute(
                "delete from distributed_lock",
                "delete from lock_node",
                "delete from lock_holder",
                "delete from lock_waiter");
    }

    private static LockRows autocommit(TestApplication application) {
        return autocommit(application, AT_MOST);
    }

    /** Limited by the driver, because nobody watches. */
    private static LockRows autocommit(TestApplication application, Duration atMost) {
        return application.store().autocommit(atMost);
    }

    private static LockEntity granted(LockEntity row) {
        return row.granted("me", null, "holder \u00e9");
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void eachIsDoneAndCommittedInBothModesOfThePool(boolean autoCommit) {
        try (TestApplication application = TestApplication.on(database, pool -> pool.setAutoCommit(autoCommit))) {
            LockEntity row = application.create("job");
            application.dataSource().reset();
            LockEntity held = granted(row);
            assertThat(autocommit(application).grant(row, held, LEASE, null)).isTrue();
            LockSnapshot seen = autocommit(application).read("job").orElseThrow();
            assertThat(autocommit(application).grant(row, held, LEASE, null))
                    .as("the version has moved on")
                    .isFalse();
            assertThat(autocommit(application).release(held, held.withHoldCount(0)))
                    .isTrue();
            assertThat(application.dataSource().statements()).isEqualTo(4);
            assertThat(application.dataSource().commits()).isEqualTo(autoCommit ? 0 : 4);
            assertThat(application.dataSource().autoCommitSwitches()).isZero();

            assertThat(seen.row().version()).isEqualTo(held.version());
            assertThat(seen.row().isSameGrantAs(held)).isTrue();
            assertThat(seen.row().holder()).isEqualTo("holder \u00e9");
            assertThat(seen.row().availableAt()).isNull();
            assertThat(Duration.between(seen.dbNow(), seen.row().expiresAt())).isBetween(LEASE.minusSeconds(10), LEASE);
            LockEntity left = application.read("job").row();
            assertThat(left.owner()).isNull();
            assertThat(left.holdCount()).isZero();
            assertThat(left.version()).isEqualTo(held.version() + 1);
            assertThat(left.fencingToken()).isEqualTo(row.fencingToken() + 1);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aRowIsCreatedOnlyOnceByOneStatementOrOneMoreOnMysql(boolean autoCommit) {
        int statements = countsHoldersFirst() ? 2 : 1;
        try (TestApplication application = TestApplication.on(database, pool -> pool.setAutoCommit(autoCommit))) {
            application.dataSource().reset();
            LockEntity answered = autocommit(application).createIfMissing("job").orElseThrow();
            assertThat(application.dataSource().statements()).isEqualTo(statements);
            assertThat(application.dataSource().commits()).isEqualTo(autoCommit ? 0 : statements);
            LockEntity created = application.read("job").row();
            assertThat(created.owner()).isNull();
            assertThat(created.fencingToken()).isPositive();
            assertThat(answered.version()).isEqualTo(created.version());
            assertThat(answered.fencingToken()).isEqualTo(created.fencingToken());
            Optional<LockEntity> again = autocommit(application).createIfMissing("job");
            assertThat(application.read("job").row().version()).isEqualTo(created.version());
            assertThat(again.map(row -> autocommit(application).grant(row, granted(row), LEASE, null)))
                    .as("a row that was there")
                    .isNotEqualTo(Optional.of(true));
        }
    }

    @Test
    void aLeaseIsCountedFromTheClockOfEachStatement() {
        try (TestApplication application = TestApplication.on(database)) {
            LockEntity row = application.create("job");
            Instant before =
                    application.call(locks -> application.store().pages().clock());
            LockEntity held = granted(row);
            assertThat(autocommit(application).grant(row, held, LEASE, null)).isTrue();
            Instant after =
                    application.call(locks -> application.store().pages().clock());
            LockEntity seen = application.read("job").row();
            Instant acquiredAt = requireNonNull(seen.acquiredAt());
            assertThat(acquiredAt).isBetween(before, after);
            // A wall clock goes on between two looks in one statement.
            assertThat(seen.expiresAt())
                    .isBetween(acquiredAt, acquiredAt.plus(LEASE).plusSeconds(1));
            assertThat(seen.expiresAt()).isAfterOrEqualTo(acquiredAt.plus(LEASE).minusSeconds(1));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aRenewalIsOneStatementAndNeverShortensARunningLease(boolean autoCommit) {
        try (TestApplication application = TestApplication.on(database, pool -> pool.setAutoCommit(autoCommit))) {
            LockEntity row = application.create("job");
            LockEntity held = granted(row);
            assertThat(autocommit(application).grant(row, held, LEASE, null)).isTrue();
            application.dataSource().reset();
            LockEntity longer = held.withHoldCount(2);
            assertThat(autocommit(application).extend(held, longer, LEASE.multipliedBy(2)))
                    .isTrue();
            assertThat(application.dataSource().statements()).isEqualTo(1);
            assertThat(application.dataSource().commits()).isEqualTo(autoCommit ? 0 : 1);
            LockSnapshot seen = application.read("job");
            assertThat(seen.row().holdCount()).isEqualTo(2);
            assertThat(seen.row().version()).isEqualTo(longer.version());
            assertThat(seen.timeUntilOver()).isBetween(LEASE.plusSeconds(1), LEASE.multipliedBy(2));

            LockEntity shorter = longer.withHoldCount(1);
            assertThat(autocommit(application).extend(longer, shorter, Duration.ofSeconds(1)))
                    .isTrue();
            LockEntity kept = application.read("job").row();
            assertThat(kept.expiresAt()).isEqualTo(seen.row().expiresAt());
            assertThat(autocommit(application).extend(longer, shorter, LEASE))
                    .as("the version has moved on")
                    .isFalse();

            database.execute("update distributed_lock set expires_at = acquired_at");
            assertThat(autocommit(application).extend(shorter, shorter.withHoldCount(1), LEASE))
                    .as("the lease is over")
                    .isFalse();
        }
    }

    @Test
    void aRenewalThatWaitedForTheRowCountsFromTheEndOfTheWait() throws Exception {
        try (TestApplication application = TestApplication.on(
                database,
                pool -> pool.setConnectionInitSql(TestSql.waitForRowsAtMost(database.kind(), Duration.ofMinutes(1))))) {
            LockEntity row = application.create("job");
            LockEntity held = granted(row);
            assertThat(autocommit(application).grant(row, held, LEASE, null)).isTrue();
            Instant released;
            try (OtherClient holder = OtherClient.lockingRow(database, "job");
                    TestThreads threads = new TestThreads()) {
                Future<Boolean> waiting = threads.start(() ->
                        autocommit(application, Duration.ofMinutes(1)).extend(held, held.withHoldCount(1), LEASE));
                assertThatThrownBy(() -> waiting.get(2, TimeUnit.SECONDS)).isInstanceOf(TimeoutException.class);
                released = application.call(locks -> application.store().pages().clock());
                holder.commit();
                assertThat(waiting.get(60, TimeUnit.SECONDS)).isTrue();
            }
            assertThat(application.read("job").row().expiresAt()).isAfterOrEqualTo(released.plus(LEASE));
        }
    }

    @Test
    void aLockThatIsNotAvailableYetIsNotGranted() {
        try (TestApplication application = TestApplication.on(database)) {
            LockEntity row = application.create("job");
            LockEntity held = granted(row);
            assertThat(autocommit(application).grant(row, held, LEASE, LEASE)).isTrue();
            LockEntity left = held.withHoldCount(0);
            assertThat(autocommit(application).release(held, left)).isTrue();
            assertThat(autocommit(application).grant(left, granted(left), LEASE, null))
                    .isFalse();
        }
    }

    @Test
    void whatTheCallersTransactionIsDoesNotMatter() {
        try (TestApplication application = TestApplication.on(database)) {
            LockEntity row = application.create("job");
            TransactionSynchronizationManager.setCurrentTransactionReadOnly(true);
            TransactionSynchronizationManager.setCurrentTransactionIsolationLevel(
                    TransactionDefinition.ISOLATION_SERIALIZABLE);
            try {
                assertThat(autocommit(application).grant(row, granted(row), LEASE, null))
                        .isTrue();
                assertThat(TransactionSynchronizationManager.isCurrentTransactionReadOnly())
                        .isTrue();
                assertThat(TransactionSynchronizationManager.getCurrentTransactionIsolationLevel())
                        .isEqualTo(TransactionDefinition.ISOLATION_SERIALIZABLE);
            } finally {
                TransactionSynchronizationManager.clear();
            }
        }
    }

    @Test
    void theApplicationsInspectorSeesEachStatement() {
        List<String> inspected = new CopyOnWriteArrayList<>();
        StatementInspector inspector = sql -> {
            inspected.add(sql);
            return sql.startsWith("update") ? "/* really? */ " + sql : null;
        };
        try (TestApplication application = TestApplication.on(
                database, pool -> {}, Map.of("hibernate.session_factory.statement_inspector", inspector))) {
            LockEntity row = application.create("job");
            inspected.clear();
            application.dataSource().reset();
            assertThat(autocommit(application).read("job")).isPresent();
            assertThat(autocommit(application).grant(row, granted(row), LEASE, null))
                    .isTrue();
            assertThat(inspected).hasSize(2);
            assertThat(application.dataSource().sql().get(1)).startsWith("/* really? */ update ");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"node", "no such node"})
    void aLookReadsWhatASessionOfHibernateReads(String nodeId) {
        try (TestApplication application = TestApplication.on(database)) {
            application.create("job");
            String time = "timestamp '2026-01-02 03:04:05.67890";
            database.execute(
                    "insert into lock_node (id, started_at, expires_at, ended, description, bell, version, waits_until)"
                            + " values ('node', " + time + "1', " + time + "2', true, 'a node', 7, 8, " + time + "3')",
                    "update distributed_lock set owner = 'me', node_id = '" + nodeId + "', hold_count = 2,"
                            + " fencing_token = 3, acquired_at = " + time + "4', expires_at = " + time + "5',"
                            + " available_at = " + time + "6', holder = 'holder', permits = 9, wanted_until = " + time
                            + "7', version = 10, guard_count = 11");
            LockSnapshot expected = application.call(
                    locks -> TestApplication.queries(locks).read("job").orElseThrow());
            LockSnapshot seen = autocommit(application).read("job").orElseThrow();
            assertThat(seen.row()).hasNoNullFieldsOrProperties();
            assertThat(seen.row()).usingRecursiveComparison().isEqualTo(expected.row());
            assertThat(seen.node() == null).isEqualTo(nodeId.equals("no such node"));
            assertThat(seen.node()).usingRecursiveComparison().isEqualTo(expected.node());
            assertThat(Duration.between(expected.dbNow(), seen.dbNow())).isBetween(Duration.ZERO, AT_MOST);
        }
    }

    @Test
    void namesAreThoseOfThePersistenceUnit() {
        // Quoted, they would be others on H2.
        Map<String, String> settings = database.kind().isH2()
                ? Map.of("hibernate.default_schema", "public")
                : Map.of("hibernate.globally_quoted_identifiers", "true");
        try (TestApplication application = TestApplication.on(database, pool -> {}, settings)) {
            LockEntity row = application.create("job");
            application.dataSource().reset();
            assertThat(autocommit(application).grant(row, granted(row), LEASE, null))
                    .isTrue();
            assertThat(application.dataSource().sql().get(0)).containsPattern("update ([\"`]|public.)distributed_lock");
            assertRowIsAnswered(application);
        }
    }

    @Test
    void aColumnNameInUpperCaseIsFound() {
        Map<String, ?> settings = Map.of("hibernate.physical_naming_strategy", new UpperCaseColumns());
        try (TestApplication application = TestApplication.on(database, pool -> {}, settings)) {
            application.dataSource().reset();
            assertRowIsAnswered(application);
            assertThat(application.dataSource().sql().get(countsHoldersFirst() ? 1 : 0))
                    .contains("VERSION");
        }
    }

    /** Its inserts would lock what they read. */
    private boolean countsHoldersFirst() {
        return database.kind() == TestDatabase.MYSQL || database.kind() == TestDatabase.MARIADB;
    }

    /** Asserts that the insert of a row answers with the row's first version. */
    private static void assertRowIsAnswered(TestApplication application) {
        LockEntity answered =
                autocommit(application).createIfMissing("answered").orElseThrow();
        assertThat(application.read("answered").row().version()).isEqualTo(answered.version());
    }

    private static final class UpperCaseColumns extends PhysicalNamingStrategyStandardImpl {

        @Override
        public Identifier toPhysicalColumnName(Identifier logicalName, JdbcEnvironment context) {
            return Identifier.toIdentifier(logicalName.getText().toUpperCase(Locale.ROOT), logicalName.isQuoted());
        }
    }

    // What a busy service leaves out

    @Test
    void theReleasesOfABusyServiceAskOnlyWhileAnotherServiceWaits() {
        assumeThat(database.kind().isH2()).as("nothing wakes waiters there").isFalse();
        try (TestApplication application = TestApplication.on(database)) {
            // For the first part, no time passes.
            AtomicLong now = new AtomicLong();
            LockStore store = application.store().cancellingOverdue(now::get);
            assertThat(store.wakeUpChannel(Runnable::run)).isPresent();
            application.create("job");
            assertThat(asks(application, store)).isFalse();
            application.call(locks -> {
                application.store().nodes().register("other", Duration.ofHours(1), null);
                return application.store().nodes().markWaiting("other", Duration.ofHours(1), null);
            });
            assertThat(asks(application, store)).as("the answer still counts").isFalse();
            for (int i = 0; i < 10; i++) {
                now.addAndGet(WaitingNodesCache.LASTS.toNanos());
                assertThat(asks(application, store)).isTrue();
            }
        }
    }

    /** Whether the last one of some releases that follow each other asks which waiter is next. */
    private static boolean asks(TestApplication application, LockStore store) {
        String release = "";
        for (int i = 0; i <= 2 * WaitingNodesCache.BUSY; i++) {
            LockEntity free = application.read("job").row();
            LockEntity held = granted(free);
            assertThat(store.autocommit(AT_MOST).grant(free, held, LEASE, null)).isTrue();
            application.dataSource().reset();
            assertThat(store.autocommit(AT_MOST).releaseAndWake(held, held.withHoldCount(0)))
                    .isTrue();
            List<String> sql = application.dataSource().sql();
            // Another statement reads whether any service waits.
            release = sql.get(sql.size() - 1);
        }
        return release.contains("lock_waiter");
    }

    /** The driver does not notice that the connection is in another schema. */
    @Test
    void aGrantThroughANodeIsWrittenOnlyBesideTheNode() {
        assumeThat(database.kind()).isEqualTo(TestDatabase.POSTGRESQL);
        try (TestApplication application = TestApplication.on(database, pool -> pool.setMaximumPoolSize(1))) {
            application.register("node");
            LockEntity first = grantedThroughNode(application, application.create("job"));
            application.dataSource().reset();
            LockEntity second = grantedThroughNode(application, first);
            assertThat(application.dataSource().sql()).hasSize(1).noneMatch(sql -> sql.contains("lock_node"));
            execute(application, "create schema elsewhere");
            execute(application, "create table elsewhere.distributed_lock (like distributed_lock including all)");
            execute(application, "create table elsewhere.lock_node (like lock_node including all)");
            execute(application, "insert into elsewhere.distributed_lock select * from distributed_lock");
            execute(application, "set search_path to elsewhere");
            for (int i = 0; i < 3; i++) {
                LockEntity next = second.granted("me", "node", null);
                assertThat(autocommit(application).grant(second, next, LEASE, null))
                        .isFalse();
            }
            execute(application, "insert into elsewhere.lock_node select * from public.lock_node");
            LockEntity there = grantedThroughNode(application, second);
            grantedThroughNode(application, there);
            execute(application, "set search_path to public");
            assertThat(autocommit(application).read("job").orElseThrow().row().version())
                    .isEqualTo(second.version());
            LockEntity next = second.granted("me", "node", null);
            assertThat(autocommit(application).grant(second, next, LEASE, null))
                    .as("the next grant finds out where it is")
                    .isFalse();
            grantedThroughNode(application, second);
            execute(application, "drop schema elsewhere cascade");
        }
    }

    /** Also changes the only connection of the pool. */
    private static void execute(TestApplication application, String sql) {
        application.call(locks -> {
            application.execute(sql);
            return locks;
        });
    }

    /** The rows of a view are in no table. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aViewOfTheLocksServesToo(boolean autoCommit) {
        assumeThat(database.kind()).isEqualTo(TestDatabase.POSTGRESQL);
        try (TestApplication application = TestApplication.on(database, pool -> pool.setAutoCommit(autoCommit))) {
            application.register("node");
            LockEntity row = application.create("job");
            execute(application, "alter table distributed_lock rename to locks_of_all");
            execute(application, "create view distributed_lock as select * from locks_of_all");
            try {
                LockEntity first = grantedThroughNode(application, row);
                grantedThroughNode(application, first);
            } finally {
                execute(application, "drop view distributed_lock");
                execute(application, "alter table locks_of_all rename to distributed_lock");
            }
        }
    }

    private static LockEntity grantedThroughNode(TestApplication application, LockEntity row) {
        LockEntity held = row.granted("me", "node", null);
        assertThat(autocommit(application).grant(row, held, LEASE, null)).isTrue();
        return held;
    }

    // What errors mean

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aRowThatAnotherTransactionHasLockedIsBusyAndNothingWasWritten(boolean autoCommit) throws Exception {
        try (TestApplication application = TestApplication.on(database, pool -> {
            pool.setAutoCommit(autoCommit);
            pool.setConnectionInitSql(TestSql.waitForRowsAtMost(
                    database.kind(), Duration.ofSeconds(database.kind().isH2() ? 1 : 60)));
        })) {
            LockEntity row = application.create("job");
            try (OtherClient other = OtherClient.lockingRow(database, "job")) {
                StoreException failure = failureOf(
                        () -> autocommit(application, Duration.ofSeconds(1)).grant(row, granted(row), LEASE, null));
                assertThat(failure.failure()).isEqualTo(Failure.BUSY);
                other.commit();
            }
            assertThat(autocommit(application).read("job").orElseThrow().row().version())
                    .isEqualTo(row.version());
            assertThat(autocommit(application).grant(row, granted(row), LEASE, null))
                    .isTrue();
        }
    }

    @ParameterizedTest
    @EnumSource(Fault.class)
    void aWriteWithoutAnAnswerIsUnknown(Fault fault) throws Exception {
        FaultyDataSource faulty = new FaultyDataSource(database.dataSource());
        try (TestApplication victim = TestApplication.on(database, pool -> pool.setDataSource(faulty))) {
            LockEntity row = victim.create("job");
            faulty.arm(1, fault);
            if (fault == Fault.AFTER_SEND) {
                assertThat(autocommit(victim).grant(row, granted(row), LEASE, null))
                        .isTrue();
            } else {
                assertThat(failureOf(() -> autocommit(victim).grant(row, granted(row), LEASE, null))
                                .failure())
                        .isEqualTo(Failure.UNKNOWN);
            }
            assertThat(faulty.fired()).isTrue();
            faulty.disarm();
            if (fault == Fault.DELAYED) {
                assertThat(autocommit(victim).read("job").orElseThrow().row().owner())
                        .isNull();
                faulty.land();
            }
            assertThat(autocommit(victim).read("job").orElseThrow().row().owner())
                    .isEqualTo(fault == Fault.BEFORE_SEND ? null : "me");
        }
    }

    @Test
    void aReadWithoutAnAnswerIsUnavailable() {
        FaultyDataSource faulty = new FaultyDataSource(database.dataSource());
        try (TestApplication victim = TestApplication.on(database, pool -> pool.setDataSource(faulty))) {
            victim.create("job");
            faulty.arm(1, Fault.ANSWER_LOST);
            assertThat(failureOf(() -> autocommit(victim).read("job")).failure())
                    .isEqualTo(Failure.UNAVAILABLE);
        }
    }

    private static StoreException failureOf(Runnable work) {
        return catchThrowableOfType(StoreException.class, work::run);
    }
}
