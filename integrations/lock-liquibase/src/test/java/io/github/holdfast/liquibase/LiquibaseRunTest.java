package io.github.holdfast.liquibase;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.liquibase.LiquibaseLockRow.State;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.TestDatabase;
import java.sql.Connection;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import liquibase.Scope;
import liquibase.changelog.ChangeLogHistoryService;
import liquibase.changelog.ChangeLogHistoryServiceFactory;
import liquibase.database.jvm.JdbcConnection;
import liquibase.exception.LockException;
import liquibase.lockservice.DatabaseChangeLogLock;
import liquibase.lockservice.LockService;
import liquibase.lockservice.LockServiceFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Runs of Liquibase under the lock. */
@OnEachDatabase
@Timeout(180)
class LiquibaseRunTest {

    private static final Duration SOON = ofSeconds(60);
    private static final String STEPS = "changelog/steps.xml";

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private Database database;
    private HikariDataSource pool;
    private LiquibaseLock lock;

    @BeforeEach
    void emptyDatabase(Database injected) {
        database = injected;
        database.execute(
                "drop table if exists distributed_lock, lock_node, lock_audit, lock_run, lock_holder, lock_waiter,"
                        + " step, DATABASECHANGELOG, DATABASECHANGELOGLOCK");
        pool = database.pool(config -> config.setMaximumPoolSize(10));
        lock = LiquibaseLock.on(pool).lease(ofSeconds(20));
    }

    @AfterEach
    void close() {
        Pause.inTheMiddle(null);
        threads.shutdownNow();
        pool.close();
    }

    @Test
    void aRunCreatesTheTableLeavesTheLockFreeAndNeedsNoTableOfLiquibasesLock() throws Exception {
        apply(lock, STEPS);

        assertThat(steps("two")).isEqualTo(1);
        assertThat(steps("three")).isEqualTo(1);
        assertThat(row().readOrCreate().state()).isEqualTo(State.FREE);
        assertThat(exists("DATABASECHANGELOGLOCK")).isFalse();
        await().atMost(SOON).until(() -> leaseThreads().isEmpty());
    }

    /** A server's class loader, or the context of a request, would live as long as they do. */
    @Test
    void theThreadsOfTheLockInheritNothingFromTheirCaller() throws Exception {
        AtomicBoolean isInherited = new AtomicBoolean();
        InheritableThreadLocal<String> ofCaller = new InheritableThreadLocal<>() {
            @Override
            protected String childValue(String value) {
                boolean isByLock = StackWalker.getInstance()
                        .walk(frames ->
                                frames.anyMatch(frame -> frame.getClassName().equals(LiquibaseHold.class.getName())));
                isInherited.compareAndSet(false, isByLock);
                return value;
            }
        };
        ofCaller.set("request");
        try {
            apply(lock, STEPS);
        } finally {
            ofCaller.remove();
        }
        assertThat(isInherited).isFalse();
    }

    @Test
    void everythingIsDroppedAlsoTheTableOfTheLock() throws Exception {
        apply(lock, STEPS);
        try (Run run = Run.under(lock, pool)) {
            run.dropAll();
        }
        assertThat(exists("distributed_lock")).isFalse();
        assertThat(exists("step")).isFalse();
        apply(lock, STEPS);
        assertThat(steps("two")).isEqualTo(1);
    }

    @Test
    void aRunThatIsNotProtectedHasLiquibasesOwnLock() throws Exception {
        try (Run run = new Run(pool)) {
            run.apply(STEPS);
        }
        assertThat(exists("DATABASECHANGELOGLOCK")).isTrue();
        assertThat(exists("distributed_lock")).isFalse();
    }

    @Test
    void aRunThatWaitedRepeatsNothing() throws Exception {
        apply(lock, "changelog/empty.xml");
        Gate gate = new Gate();
        Future<?> first = threads.submit(() -> apply(lock, STEPS));
        gate.awaitTheMiddle();
        Future<?> second = threads.submit(() -> apply(lock, STEPS));
        await().atMost(SOON).until(LiquibaseRunTest::isAnybodyWaiting);
        gate.open();

        first.get(60, TimeUnit.SECONDS);
        second.get(60, TimeUnit.SECONDS);
        assertThat(steps("two")).isEqualTo(1);
        assertThat(steps("three")).isEqualTo(1);
    }

    /** Liquibase caches the history, and at REPEATABLE READ its transaction would go on seeing the old one. */
    @Test
    void whoGetsTheLockReadsTheHistoryAsItIsNow() throws Exception {
        apply(lock, "changelog/empty.xml");
        try (Run run = Run.under(lock, pool)) {
            assertThat(run.database().getRanChangeSetList()).hasSize(1);
            database.execute(
                    "insert into DATABASECHANGELOG (ID, AUTHOR, FILENAME, DATEEXECUTED, ORDEREXECUTED, EXECTYPE)"
                            + " values ('other', 'other', 'other', current_timestamp, 2, 'EXECUTED')");
            assertThat(run.database().getRanChangeSetList()).as("cached").hasSize(1);
            run.lock().waitForLock();
            assertThat(run.database().getRanChangeSetList()).hasSize(2);
            run.lock().releaseLock();
        }
    }

    /** Otherwise that run could fail, after a change set that has committed and before its record. */
    @Test
    void aGrantLeavesTheHistoryOfAnotherRunInTheSameProcess() throws Exception {
        apply(lock, "changelog/empty.xml");
        try (Run other = new Run(pool);
                Run run = Run.under(lock, pool)) {
            ChangeLogHistoryService history = historyOf(other);
            assertThat(history.getRanChangeSets()).hasSize(1);
            database.execute("delete from DATABASECHANGELOG");
            run.lock().waitForLock();
            assertThat(historyOf(other)).isSameAs(history);
            assertThat(history.getRanChangeSets()).as("cached").hasSize(1);
            run.lock().releaseLock();
        }
    }

    private static ChangeLogHistoryService historyOf(Run run) {
        return Scope.getCurrentScope()
                .getSingleton(ChangeLogHistoryServiceFactory.class)
                .getChangeLogService(run.database());
    }

    @Test
    void ofManyStartsAtOnceEachChangeSetRunsOnce() throws Exception {
        apply(lock, "changelog/empty.xml");
        CountDownLatch go = new CountDownLatch(1);
        List<Future<?>> starts = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            starts.add(threads.submit(() -> {
                go.await();
                apply(lock, STEPS);
                return null;
            }));
        }
        go.countDown();
        for (Future<?> start : starts) {
            start.get(120, TimeUnit.SECONDS);
        }
        assertThat(steps("two")).isEqualTo(1);
        assertThat(steps("three")).isEqualTo(1);
        assertThat(database.queryForLong("select count(*) from DATABASECHANGELOG where ID in ('1', '2', '3')"))
                .isEqualTo(3);
    }

    @Test
    void aRunThatIsLongerThanTheLeaseKeepsTheLock() throws Exception {
        LiquibaseLock shortLease = lock.lease(ofSeconds(8));
        Gate gate = new Gate();
        Future<?> run = threads.submit(() -> apply(shortLease, STEPS));
        gate.awaitTheMiddle();
        long token = row().readOrCreate().token();
        try (Run other = Run.under(shortLease, pool)) {
            LockService waiting = other.lock();
            await().pollInterval(ofMillis(100))
                    .during(ofSeconds(10))
                    .atMost(ofSeconds(60))
                    .until(() -> !waiting.acquireLock());
        }
        assertThat(row().readOrCreate().token()).isEqualTo(token);
        gate.open();
        run.get(60, TimeUnit.SECONDS);
        assertThat(steps("three")).isEqualTo(1);
    }

    /** Liquibase forgets its lock services when any run in the JVM ends. */
    @Test
    void theEndOfAnotherRunInTheSameProcessChangesNothing() throws Exception {
        Gate gate = new Gate();
        Future<?> run = threads.submit(() -> apply(lock, STEPS));
        gate.awaitTheMiddle();
        LockServiceFactory.getInstance().resetAll();
        assertThat(row().readOrCreate().state()).isEqualTo(State.HELD);
        gate.open();
        run.get(60, TimeUnit.SECONDS);
        assertThat(row().readOrCreate().state()).isEqualTo(State.FREE);
    }

    @Test
    void aRunThatLosesItsLockIsAborted() throws Exception {
        LiquibaseLock shortLease = lock.lease(ofSeconds(8));
        CompletableFuture<Void> lost = new CompletableFuture<>();
        Pause.inTheMiddle(running -> {
            try (RealService real = RealService.on(database)) {
                assertThat(real.locks().admin().forceRelease(row().name(), "a test"))
                        .isPresent();
            }
            await().atMost(SOON)
                    .until(() -> ProtectedDatabase.find(running).orElseThrow().held() == null);
            if (!database.kind().isH2()) {
                await().atMost(SOON).until(() -> isBroken(running));
            }
            lost.complete(null);
        });
        if (database.kind().isH2()) {
            // Its driver cannot abort a connection.
            apply(shortLease, STEPS);
            assertThat(steps("three")).isEqualTo(1);
        } else {
            assertThatThrownBy(() -> apply(shortLease, STEPS)).isNotInstanceOf(AssertionError.class);
            assertThat(steps("three")).isZero();
        }
        assertThat(lost).isCompleted();
        assertThat(leaseThreads()).isEmpty();
        Pause.inTheMiddle(null);
        apply(shortLease, STEPS);
        assertThat(steps("two")).isEqualTo(1);
        assertThat(steps("three")).isEqualTo(1);
    }

    @Test
    void anAbortEndsAStatementThatIsUnderWay() throws Exception {
        if (database.kind().isH2()) {
            return;
        }
        String sleep = database.kind() == TestDatabase.POSTGRESQL ? "select pg_sleep(100)" : "select sleep(100)";
        LiquibaseLock shortLease = lock.lease(ofSeconds(8));
        Gate gate = new Gate();
        Pause.inTheMiddle(running -> {
            gate.reachTheMiddle();
            try (Statement statement = ((JdbcConnection) running.getConnection()).createStatement()) {
                statement.execute(sleep);
            }
        });
        Future<?> run = threads.submit(() -> apply(shortLease, STEPS));
        gate.awaitTheMiddle();
        long begin = System.nanoTime();
        try (Run operator = Run.under(shortLease, pool)) {
            operator.lock().forceReleaseLock();
        }
        assertThatThrownBy(() -> run.get(60, TimeUnit.SECONDS)).isNotInstanceOf(TimeoutException.class);
        assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(ofSeconds(50));
    }

    @Test
    void theChangelogOfTheTablesFindsThemAndMayChangeThem() throws Exception {
        apply(lock, "changelog/with-locks.xml");

        assertThat(changeSets("MARK_RAN")).isEqualTo(changeSets("%") - 1).isGreaterThan(5);
        assertThat(exists("later", "distributed_lock")).isTrue();
        LockSchema.on(pool).validate();
        assertThat(row().readOrCreate().state()).isEqualTo(State.FREE);
    }

    @Test
    void tablesThatTheChangelogHasCreatedBeforeAreUsed() throws Exception {
        try (Run before = new Run(pool)) {
            before.apply("changelog/with-locks.xml");
        }
        assertThat(changeSets("MARK_RAN")).isZero();
        apply(lock, STEPS);
        assertThat(steps("three")).isEqualTo(1);
    }

    @Test
    void aWaitEndsWithTheNameOfTheHolder() throws Exception {
        try (Run holder = Run.under(lock.application("shop"), pool);
                Run other = Run.under(lock, pool)) {
            holder.lock().waitForLock();
            assertThat(holder.lock().hasChangeLogLock()).isTrue();
            assertThatThrownBy(() -> other.lock(0).waitForLock())
                    .isInstanceOf(LockException.class)
                    .hasMessageContaining(row().name())
                    .hasMessageContaining("shop:" + ProcessHandle.current().pid() + "@")
                    .hasMessageContaining("/" + Thread.currentThread().getName());
            assertThat(other.lock().hasChangeLogLock()).isFalse();
            other.lock().releaseLock();
            assertThat(row().readOrCreate().state())
                    .as("the lock of another one")
                    .isEqualTo(State.HELD);
            holder.lock().releaseLock();
            assertThat(other.lock().acquireLock()).isTrue();
            assertThat(other.lock().acquireLock()).as("once more").isTrue();
            other.lock().releaseLock();
        }
    }

    @Test
    void anInterruptEndsTheWait() throws Exception {
        try (Run holder = Run.under(lock, pool);
                Run other = Run.under(lock, pool)) {
            holder.lock().waitForLock();
            CompletableFuture<Throwable> thrown = new CompletableFuture<>();
            LockService waiting = other.lock(5);
            Thread waiter = new Thread(() -> {
                try {
                    waiting.waitForLock();
                } catch (LockException interrupted) {
                    thrown.complete(interrupted.getCause());
                }
            });
            waiter.start();
            await().atMost(SOON).until(LiquibaseRunTest::isAnybodyWaiting);
            waiter.interrupt();
            assertThat(thrown.get(60, TimeUnit.SECONDS)).isInstanceOf(InterruptedException.class);
            holder.lock().releaseLock();
        }
    }

    @Test
    void locksAreListedAndReleasedByForceWithARecord() throws Exception {
        try (Run holder = Run.under(lock.lease(ofSeconds(8)), pool);
                Run operator = Run.under(lock, pool);
                RealService real = RealService.on(database)) {
            assertThat(operator.lock().listLocks()).isEmpty();
            operator.lock().forceReleaseLock();
            holder.lock().waitForLock();
            DatabaseChangeLogLock[] listed = operator.lock().listLocks();
            assertThat(listed).hasSize(1);
            assertThat(listed[0].getLockedBy()).contains(ProcessHandle.current().pid() + "@");
            assertThat(Duration.between(listed[0].getLockGranted().toInstant(), Instant.now())
                            .abs())
                    .isLessThan(ofSeconds(60));
            assertThat(real.locks().admin().held("", 10))
                    .extracting(LockInfo::name)
                    .containsExactly(row().name());

            operator.lock().forceReleaseLock();
            assertThat(operator.lock().listLocks()).isEmpty();
            assertThatThrownBy(() -> operator.lock(0).waitForLock())
                    .as("the former lease is not over")
                    .isInstanceOf(LockException.class)
                    .hasMessageContaining("was not free within 0 s: it stays unavailable for another")
                    .hasMessageNotContaining("held by");
            assertThat(database.queryForLong("select count(*) from lock_audit where lock_name = '" + row().name()
                            + "' and action = 'FORCED_RELEASE' and reason like '%Liquibase%'"))
                    .isEqualTo(1);
            await().atMost(SOON).until(() -> operator.lock().acquireLock());
            holder.lock().releaseLock();
            assertThat(row().readOrCreate().state())
                    .as("the lock of another one")
                    .isEqualTo(State.HELD);
            operator.lock().releaseLock();
        }
    }

    @Test
    void aLockThatAServiceHoldsWithoutALeaseIsNotReleasedByForce() throws Exception {
        try (RealService real = RealService.on(database);
                LockHandle handle = real.locks().acquire(LockRequest.of(row().name()));
                Run operator = Run.under(lock, pool)) {
            assertThatThrownBy(() -> operator.lock().forceReleaseLock())
                    .isInstanceOf(LockException.class)
                    .hasMessageContaining("LockAdmin.forceRelease");
            assertThat(operator.lock().acquireLock()).isFalse();
            assertThat(handle.state().name()).isEqualTo("HELD");
        }
    }

    @Test
    void aRunWhoseConnectionIsClosedGivesTheLockBack() throws Exception {
        try (Run run = Run.under(lock.lease(ofSeconds(8)), pool)) {
            run.lock().waitForLock();
        }
        await().atMost(SOON).until(() -> leaseThreads().isEmpty());
        assertThat(row().readOrCreate().state()).isEqualTo(State.FREE);
    }

    @Test
    void aPoolOfOneConnectionIsNamedAsTheCause() throws Exception {
        try (HikariDataSource one = database.pool(config -> {
                    config.setMaximumPoolSize(1);
                    config.setConnectionTimeout(500);
                });
                Run run = Run.under(LiquibaseLock.on(one), one)) {
            assertThatThrownBy(() -> run.lock().waitForLock())
                    .isInstanceOf(LockException.class)
                    .hasMessageContaining("one connection besides Liquibase's");
        }
    }

    @Test
    void connectionsKeepTheirAutocommitMode() throws Exception {
        try (HikariDataSource manual = database.pool(config -> config.setAutoCommit(false))) {
            apply(LiquibaseLock.on(manual), STEPS);
            try (Connection connection = manual.getConnection()) {
                assertThat(connection.getAutoCommit()).isFalse();
            }
        }
        assertThat(row().readOrCreate().state()).isEqualTo(State.FREE);
        assertThat(steps("three")).isEqualTo(1);
    }

    private Void apply(LiquibaseLock protection, String changelog) throws Exception {
        try (Run run = Run.under(protection, pool)) {
            run.apply(changelog);
        }
        return null;
    }

    private LiquibaseLockRow row() throws Exception {
        try (Run run = new Run(pool)) {
            String schema = run.database().getLiquibaseSchemaName();
            return lock.row("liquibase:" + (schema == null ? run.database().getLiquibaseCatalogName() : schema));
        }
    }

    private long steps(String name) {
        return database.queryForLong("select count(*) from step where name = '" + name + "'");
    }

    private long changeSets(String status) {
        return database.queryForLong("select count(*) from DATABASECHANGELOG where EXECTYPE like '" + status + "'");
    }

    private boolean exists(String table) {
        return exists("*", table);
    }

    private boolean exists(String column, String table) {
        try {
            database.execute("select " + column + " from " + table + " where 1 = 0");
            return true;
        } catch (IllegalStateException missing) {
            return false;
        }
    }

    private static boolean isBroken(liquibase.database.Database running) {
        try (Statement statement = ((JdbcConnection) running.getConnection()).createStatement()) {
            statement.execute("select 1");
            return false;
        } catch (Exception broken) {
            return true;
        }
    }

    private static boolean isAnybodyWaiting() {
        return Thread.getAllStackTraces().values().stream()
                .flatMap(Stream::of)
                .anyMatch(frame -> frame.getClassName().equals(WaitLimit.class.getName())
                        && frame.getMethodName().equals("pause"));
    }

    private static List<Thread> leaseThreads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("holdfast-liquibase-lease"))
                .toList();
    }

    /** Stops the first run that reaches the middle, until it is opened. */
    private static final class Gate {

        private final CountDownLatch middle = new CountDownLatch(1);
        private final CountDownLatch opened = new CountDownLatch(1);

        Gate() {
            Pause.inTheMiddle(running -> {
                reachTheMiddle();
                assertThat(opened.await(60, TimeUnit.SECONDS)).isTrue();
            });
        }

        void reachTheMiddle() {
            middle.countDown();
        }

        void awaitTheMiddle() throws InterruptedException {
            assertThat(middle.await(60, TimeUnit.SECONDS)).isTrue();
        }

        void open() {
            opened.countDown();
        }
    }
}
