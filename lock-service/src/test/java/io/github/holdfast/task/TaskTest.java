package io.github.holdfast.task;

import static io.github.holdfast.test.TestDatabase.H2_TCP;
import static io.github.holdfast.test.TestDatabase.MARIADB;
import static io.github.holdfast.test.TestDatabase.MYSQL;
import static io.github.holdfast.test.TestDatabase.POSTGRESQL;
import static java.time.Duration.ZERO;
import static java.time.Duration.ofDays;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.entity.LockRun;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.service.LockAdmin;
import io.github.holdfast.service.LockAdmin.HousekeepingReport;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.LockServiceBuilder;
import io.github.holdfast.service.NodeWorker;
import io.github.holdfast.service.RunInfo;
import io.github.holdfast.service.Services;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import io.github.holdfast.test.jdbc.FaultyDataSource.Fault;
import io.github.holdfast.test.process.JavaProcess;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/** Tasks that run once in a while: which run when, and what is written down of them. */
@OnEachDatabase({H2_TCP, POSTGRESQL, MARIADB, MYSQL})
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class TaskTest {

    private static final Duration SOON = ofSeconds(60);

    /** So long that no test meets its end. */
    private static final Duration PERIOD = ofDays(365);

    private Database database;
    private TaskRows rows;
    private Services services;
    private FaultyDataSource faults;
    private LockService mine;
    private LockService theirs;
    private LockService faulty;

    @BeforeAll
    void open(Database injected) throws Exception {
        database = injected;
        services = Services.on(database);
        rows = new TaskRows(database);
        faults = new FaultyDataSource(database.dataSource());
        mine = services.build(LockServiceBuilder::withoutHousekeeping);
        theirs = services.build(LockServiceBuilder::withoutHousekeeping);
        HikariDataSource impatient = database.pool(faults, faults, pool -> pool.setConnectionTimeout(250));
        faulty = services.build(impatient, LockServiceBuilder::withoutHousekeeping);
        for (LockService service : List.of(mine, theirs)) {
            // A task does not wait for long until its service has a node.
            service.acquire(LockRequest.of("node").waitAtMost(SOON)).close();
        }
    }

    @AfterAll
    void close() throws Exception {
        faults.disarm();
        faults.up();
        services.close();
    }

    private static TaskRequest yearly(String name) {
        return TaskRequest.of(name).every(PERIOD);
    }

    private static TaskOutcome run(LockService service, TaskRequest request) {
        return service.task(request).runIfDue(lock -> {});
    }

    private List<RunInfo> runs(String name) {
        return mine.admin().runs(name, Long.MAX_VALUE, 1000);
    }

    private List<LockRun.Status> statuses(String name) {
        return runs(name).stream().map(RunInfo::status).toList();
    }

    // Once

    @Test
    void onePeriodHasOneRunHoweverManyNodesAndThreadsComeAtOnce() throws Exception {
        List<TaskOutcome> outcomes = new ArrayList<>();
        AtomicInteger ran = new AtomicInteger();
        for (Future<TaskOutcome> outcome : atOnce(
                8,
                number -> (number % 2 == 0 ? mine : theirs)
                        .task(yearly("once"))
                        .runIfDue(lock -> ran.incrementAndGet()))) {
            outcomes.add(outcome.get());
        }

        assertThat(ran).hasValue(1);
        assertThat(outcomes).containsOnlyOnce(TaskOutcome.SUCCEEDED);
        assertThat(outcomes).isSubsetOf(TaskOutcome.SUCCEEDED, TaskOutcome.NOT_DUE, TaskOutcome.HELD);
        assertThat(run(theirs, yearly("once"))).isEqualTo(TaskOutcome.NOT_DUE);
        assertThat(runs("once")).singleElement().satisfies(run -> {
            assertThat(run.status()).isEqualTo(LockRun.Status.SUCCEEDED);
            assertThat(run.period()).isEqualTo(rows.nowMicros() / (PERIOD.toNanos() / 1000));
            assertThat(run.fencingToken()).isEqualTo(rows.token("once"));
            assertThat(run.holder()).contains(ProcessHandle.current().pid() + "@");
            assertThat(run.nodeId()).isNotNull();
            assertThat(run.error()).isNull();
            assertThat(run.endedAt()).isNotNull().isAfterOrEqualTo(run.begunAt());
        });
        // The zones of session and JVM differ from UTC: what was sent as an instant is stored as the same one.
        assertThat(rows.acquiredAtMicros("once") - rows.begunAtMicros("once")).isBetween(0L, SOON.toNanos() / 1000);
    }

    @Test
    void runsFollowEachOtherAndNeverOverlap() throws Exception {
        AtomicInteger running = new AtomicInteger();
        AtomicInteger ran = new AtomicInteger();
        AtomicInteger overlapped = new AtomicInteger();
        TaskRequest request = TaskRequest.of("busy").minimumHold(ZERO);
        for (Future<Integer> caller : atOnce(8, number -> {
            TaskLock task = (number % 2 == 0 ? mine : theirs).task(request);
            while (ran.get() < 40) {
                task.runIfDue(lock -> {
                    if (running.incrementAndGet() > 1 || rows.running("busy") != 1) {
                        overlapped.incrementAndGet();
                    }
                    ran.incrementAndGet();
                    running.decrementAndGet();
                });
            }
            return number;
        })) {
            caller.get();
        }

        assertThat(overlapped).hasValue(0);
        assertThat(statuses("busy")).hasSize(ran.get()).containsOnly(LockRun.Status.SUCCEEDED);
        assertThat(runs("busy")).extracting(RunInfo::period).containsOnlyNulls();
    }

    @Test
    void aTaskThatIsRunningIsNotRunByAnybodyElseNorByItself() {
        TaskRequest request = yearly("held").retryFailed();
        TaskOutcome outcome = mine.task(request).runIfDue(lock -> {
            assertThat(run(theirs, request)).isEqualTo(TaskOutcome.HELD);
            assertThat(run(mine, request)).isEqualTo(TaskOutcome.HELD);
            assertThat(theirs.find("held").orElseThrow().fencingToken()).isEqualTo(lock.fencingToken());
        });

        assertThat(outcome).isEqualTo(TaskOutcome.SUCCEEDED);
        assertThat(statuses("held")).containsExactly(LockRun.Status.SUCCEEDED);
    }

    @Test
    void aMinimumHoldKeepsTheNextRunAway() {
        TaskRequest request = TaskRequest.of("spaced").minimumHold(ofSeconds(1));
        assertThat(run(mine, request)).isEqualTo(TaskOutcome.SUCCEEDED);
        await().atMost(SOON).pollInterval(ofMillis(20)).until(() -> run(theirs, request) == TaskOutcome.SUCCEEDED);

        List<RunInfo> runs = runs("spaced");
        assertThat(runs).hasSize(2);
        // The first counts from its grant, which is after it was found to be due.
        assertThat(Duration.between(runs.get(1).begunAt(), runs.get(0).begunAt()))
                .isGreaterThanOrEqualTo(ofSeconds(1));
    }

    @Test
    void aClockThatWasSetBackMakesNothingDueAndPeriodsMayChangeTheirLength() {
        TaskRequest daily = TaskRequest.of("clock").every(ofDays(1));
        TaskRequest weekly = TaskRequest.of("clock").every(ofDays(7));
        assertThat(run(mine, weekly)).isEqualTo(TaskOutcome.SUCCEEDED);
        rows.move("clock", ofDays(3));
        assertThat(run(mine, daily)).isEqualTo(TaskOutcome.NOT_DUE);
        assertThat(run(mine, weekly)).isEqualTo(TaskOutcome.NOT_DUE);
        rows.move("clock", ofDays(-4));
        assertThat(run(mine, daily)).isEqualTo(TaskOutcome.SUCCEEDED);
        assertThat(run(mine, weekly)).isEqualTo(TaskOutcome.NOT_DUE);
        rows.move("clock", ofDays(-7));
        assertThat(run(mine, weekly)).isEqualTo(TaskOutcome.SUCCEEDED);
        assertThat(run(mine, daily)).isEqualTo(TaskOutcome.NOT_DUE);
    }

    // Failures

    @Test
    void aFailedRunIsToldAndRepeatedOnlyIfThatWasAskedFor() {
        Exception thrown = new IllegalStateException("no paper");
        TaskRequest request = yearly("failing");
        assertThatThrownBy(() -> mine.task(request).runIfDue(lock -> {
                    throw thrown;
                }))
                .isSameAs(thrown);
        assertThat(run(theirs, request)).isEqualTo(TaskOutcome.NOT_DUE);
        assertThat(run(theirs, request.retryFailed())).isEqualTo(TaskOutcome.SUCCEEDED);
        assertThat(run(mine, request.retryFailed())).isEqualTo(TaskOutcome.NOT_DUE);

        List<RunInfo> runs = runs("failing");
        assertThat(runs).extracting(RunInfo::status).containsExactly(LockRun.Status.SUCCEEDED, LockRun.Status.FAILED);
        assertThat(runs.get(1).error()).isEqualTo("java.lang.IllegalStateException: no paper");
        assertThat(runs.get(1).period()).isEqualTo(runs.get(0).period());
    }

    @Test
    void aFailureThatCannotSayWhatItIsKeepsNoLock() {
        RuntimeException thrown = new RuntimeException() {
            private static final long serialVersionUID = 1L;

            @Override
            public String getMessage() {
                throw new IllegalStateException("no session");
            }
        };
        assertThatThrownBy(() -> mine.task(yearly("mute")).runIfDue(lock -> {
                    throw thrown;
                }))
                .isSameAs(thrown);
        assertThat(mine.find("mute")).isEmpty();
        assertThat(runs("mute"))
                .extracting(RunInfo::error)
                .containsExactly(thrown.getClass().getName());
    }

    @Test
    void aRunThatLosesItsLockIsLostWhateverTheTaskSays() {
        assertThatThrownBy(() -> mine.task(yearly("forced"))
                        .runIfDue(lock -> theirs.admin().forceRelease("forced", "for the test")))
                .isInstanceOf(LockLostException.class);
        TaskRequest leased = yearly("leased").lease(ofSeconds(3));
        assertThatThrownBy(() -> mine.task(leased)
                        .runIfDue(lock -> await().atMost(SOON).until(() -> lock.state() == LockState.LOST)))
                .isInstanceOf(LockLostException.class);
        Exception thrown = new IllegalStateException("lost and failed");
        assertThatThrownBy(() -> mine.task(yearly("both")).runIfDue(lock -> {
                    theirs.admin().forceRelease("both", "for the test");
                    throw thrown;
                }))
                .isSameAs(thrown);

        for (String name : List.of("forced", "leased", "both")) {
            assertThat(statuses(name)).as(name).containsExactly(LockRun.Status.LOST);
            assertThat(run(theirs, yearly(name))).as(name).isEqualTo(TaskOutcome.NOT_DUE);
        }
        assertThat(runs("both").get(0).error()).contains("lost and failed");
        assertThat(runs("leased").get(0).nodeId()).isNull();
    }

    @Test
    void aRunInsideATransactionIsRefused() {
        TransactionSynchronizationManager.setActualTransactionActive(true);
        try {
            assertThatIllegalStateException()
                    .isThrownBy(() -> run(mine, yearly("in a transaction")))
                    .withMessageContaining("in a transaction")
                    .withMessageContaining("outside");
        } finally {
            TransactionSynchronizationManager.setActualTransactionActive(false);
        }
        assertThat(runs("in a transaction")).isEmpty();
    }

    @Test
    void runsOfAKilledProcessAreFoundToBeLostByHousekeepingAndByTheNextRun() throws Exception {
        // Long enough for a loaded machine to renew it.
        try (JavaProcess worker = NodeWorker.start(database, ofSeconds(10))) {
            for (String name : List.of("swept", "retried")) {
                worker.send("run " + name);
                worker.awaitLine(("running " + name)::equals, SOON);
                assertThat(run(mine, yearly(name).retryFailed())).isEqualTo(TaskOutcome.HELD);
            }
            worker.kill();
            await().atMost(SOON).until(() -> run(mine, yearly("swept")) == TaskOutcome.NOT_DUE);
            assertThat(statuses("swept")).containsExactly(LockRun.Status.RUNNING);
            assertThat(run(mine, yearly("retried").retryFailed())).isEqualTo(TaskOutcome.SUCCEEDED);
            assertThat(statuses("retried")).containsExactly(LockRun.Status.SUCCEEDED, LockRun.Status.LOST);
            mine.task(yearly("alive")).runIfDue(lock -> {
                assertThat(theirs.admin().housekeep().runsLost()).isEqualTo(1);
            });
            assertThat(statuses("swept")).containsExactly(LockRun.Status.LOST);
            assertThat(statuses("alive")).containsExactly(LockRun.Status.SUCCEEDED);
        }
    }

    // The database

    @Test
    void anEndThatCannotBeWrittenDownIsWrittenLaterAndTheLockKeptUntilThen() {
        TaskRequest request = yearly("away").retryFailed();
        assertThat(faulty.task(request).runIfDue(lock -> faults.down())).isEqualTo(TaskOutcome.UNRESOLVED);
        assertThat(run(theirs, request)).isEqualTo(TaskOutcome.HELD);
        assertThat(statuses("away")).containsExactly(LockRun.Status.RUNNING);
        faults.up();
        await().atMost(SOON).until(() -> theirs.find("away").isEmpty());

        assertThat(statuses("away")).containsExactly(LockRun.Status.SUCCEEDED);
        assertThat(run(theirs, request)).isEqualTo(TaskOutcome.NOT_DUE);
    }

    /** The connection breaks at each statement and each commit of a run. */
    @Test
    void howeverTheConnectionBreaksAPeriodHasOneRunAndWhatIsWrittenDownIsTrue() throws Exception {
        LockService broken = services.build(services.patientPoolOver(faults), LockServiceBuilder::withoutHousekeeping);
        assertThat(run(broken, yearly("warm"))).isEqualTo(TaskOutcome.SUCCEEDED);
        for (Fault fault : Arrays.asList(Fault.BEFORE_SEND, Fault.ANSWER_LOST)) {
            int step = 0;
            do {
                step++;
                String name = "broken " + fault + " " + step;
                // So that the row is there, and all cases have the same steps.
                mine.acquire(LockRequest.of(name)).close();
                AtomicInteger ran = new AtomicInteger();
                faults.arm(step, fault);
                try {
                    assertThat(broken.task(yearly(name)).runIfDue(lock -> ran.incrementAndGet()))
                            .as(name)
                            .isEqualTo(TaskOutcome.SUCCEEDED);
                    assertThat(ran).as(name).hasValue(1);
                } catch (LockStoreException beforeItBegan) {
                    assertThat(ran).as(name).hasValue(0);
                }
                boolean wasBroken = faults.fired();
                faults.disarm();
                await().atMost(SOON).until(() -> theirs.find(name).isEmpty());
                assertThat(run(theirs, yearly(name)))
                        .as(name)
                        .isEqualTo(ran.get() == 1 ? TaskOutcome.NOT_DUE : TaskOutcome.SUCCEEDED);
                assertThat(statuses(name)).as(name).containsExactly(LockRun.Status.SUCCEEDED);
                if (!wasBroken) {
                    break;
                }
            } while (step < 100);
            // Six statements and two commits.
            assertThat(step).as("the first step that there is not").isGreaterThanOrEqualTo(9);
        }
    }

    @Test
    void oldRunsArePurgedButTheLastOfEachTask() throws Exception {
        rows.ended("purged", ofDays(8), 150);
        rows.ended("young", ofDays(6), 2);
        rows.ended("ancient", ofDays(370), 1);
        HousekeepingReport report = mine.admin().housekeep();

        assertThat(report.runsPurged()).isEqualTo(150);
        assertThat(runs("purged")).extracting(RunInfo::fencingToken).containsExactly(150L);
        assertThat(runs("young")).hasSize(2);
        assertThat(runs("ancient")).isEmpty();
    }

    @Test
    void runsAreListedInPages() {
        rows.ended("listed 1", ofSeconds(60), 3);
        rows.ended("listed 2", ofSeconds(60), 2);
        LockAdmin admin = mine.admin();

        assertThat(admin.lastRuns("listed", 1)).extracting(RunInfo::name).containsExactly("listed 1");
        assertThat(admin.lastRuns("listed 1", 1))
                .extracting(RunInfo::fencingToken)
                .containsExactly(2L);
        assertThat(admin.runs("listed 1", Long.MAX_VALUE, 2))
                .extracting(RunInfo::fencingToken)
                .containsExactly(3L, 2L);
        assertThat(admin.runs("listed 1", 2, 2))
                .extracting(RunInfo::fencingToken)
                .containsExactly(1L);
    }

    private interface Numbered<T> {
        T call(int number) throws Exception;
    }

    private static <T> List<Future<T>> atOnce(int threads, Numbered<T> work) throws Exception {
        ExecutorService executor = Executors.newFixedThreadPool(threads);
        CyclicBarrier start = new CyclicBarrier(threads);
        try {
            List<Callable<T>> calls = new ArrayList<>();
            for (int number = 0; number < threads; number++) {
                int each = number;
                calls.add(() -> {
                    start.await(SOON.toSeconds(), TimeUnit.SECONDS);
                    return work.call(each);
                });
            }
            return executor.invokeAll(calls);
        } finally {
            executor.shutdown();
        }
    }
}
