package io.github.holdfast.service;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofDays;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.election.ElectionRequest;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.entity.LockRun;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.semaphore.PermitInfo;
import io.github.holdfast.semaphore.SemaphoreRequest;
import io.github.holdfast.task.TaskOutcome;
import io.github.holdfast.task.TaskRequest;
import io.github.holdfast.task.TaskRows;
import io.github.holdfast.test.OnEachDatabase;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The connection breaks in what operators do, in the runs of tasks, and while a service is built and closed. */
@Tag("crash-point")
@OnEachDatabase
class AdminCrashPointTest extends CrashPoints {

    private TaskRows runs;

    @BeforeAll
    void openRuns() {
        runs = new TaskRows(database);
    }

    // Operators

    @Test
    @Breaks({
        "LockAdmin.audit(String, int)",
        "LockAdmin.databaseClock()",
        "LockAdmin.held(LockFilter, String, int)",
        "LockAdmin.held(String, int)",
        "LockAdmin.holders(String)",
        "LockAdmin.lastRuns(String, int)",
        "LockAdmin.nodes(String, int)",
        "LockAdmin.queue(String, int)",
        "LockAdmin.queues(int)",
        "LockAdmin.runs(String, long, int)",
        "SemaphoreAdmin.find(String)",
        "SemaphoreAdmin.page(String, int)",
        "SemaphoreAdmin.permits(Collection, int)",
        "SemaphoreAdmin.permits(String)"
    })
    void whatIsThereIsRead() {
        List<Crash.Use<LockAdmin>> reads = List.of(
                LockAdmin::databaseClock,
                admin -> assertThat(admin.audit("read", 1)).isEmpty(),
                admin -> assertThat(admin.held("reader", 1)).hasSize(1),
                admin -> assertThat(admin.held(LockFilter.all().named("reader of"), "", 1))
                        .hasSize(1),
                admin -> assertThat(admin.queue("read", 1)).isEmpty(),
                admin -> assertThat(admin.queues(1)).isNotNull(),
                admin -> assertThat(admin.holders("reader of all")).hasSize(1),
                admin -> assertThat(admin.nodes("", 1)).hasSize(1),
                admin -> assertThat(admin.lastRuns("", 1)).isNotNull(),
                admin -> assertThat(admin.runs("read", Long.MAX_VALUE, 1)).isEmpty(),
                admin -> assertThat(admin.semaphores().page("", 1)).isNotNull(),
                admin -> assertThat(admin.semaphores().find("read")).isEmpty(),
                admin -> assertThat(admin.semaphores().permits(List.of("read"), 1))
                        .isEmpty(),
                admin -> assertThat(admin.semaphores().permits("read")).isEmpty());
        LockHandle held =
                mine.acquireUninterruptibly(LockRequest.of("reader of all").shared());
        for (Crash.Use<LockAdmin> read : reads) {
            atEachStep(2, crash -> crash.isDone(() -> read.of(mine.admin())));
        }
        held.close();
    }

    @Test
    @Breaks({"LockAdmin.elections(String, int)", "LockAdmin.waitingNodes(String)"})
    void electionsAreReadWithThoseWhoWait() {
        ElectionRequest request = ElectionRequest.of("read election");
        LockService others = services.build(LockServiceBuilder::withoutHousekeeping);
        try (LeaderElection leading = theirs.election(request);
                LeaderElection waiting = others.election(request)) {
            leading.start();
            await().atMost(SOON).until(leading::isLeader);
            waiting.start();
            await().atMost(SOON)
                    .until(() -> !others.admin().waitingNodes(request.name()).isEmpty());
            atEachStep(
                    4,
                    crash -> crash.isDone(() -> assertThat(mine.admin().elections("", 10))
                            .singleElement()
                            .satisfies(
                                    election -> assertThat(election.waiting()).hasSize(1))));
            atEachStep(
                    2,
                    crash -> crash.isDone(() -> assertThat(mine.admin().waitingNodes(request.name()))
                            .hasSize(1)));
        }
        others.close();
    }

    /** It is done or not, and written down if it is, once; the lock is then kept from everybody, until here the test ends that. */
    @ParameterizedTest
    @EnumSource
    @Breaks({"LockAdmin.forceRelease(String, String)", "LockAdmin.forceRelease(String, long, String)"})
    void aLockIsReleasedByForce(Kept kept) {
        released(kept, lock -> mine.admin().forceRelease(lock.name(), "to test"));
        released(kept, lock -> mine.admin().forceRelease(lock.name(), lock.fencingToken(), "to test"));
    }

    private void released(Kept kept, Function<LockHandle, Optional<LockInfo>> byForce) {
        atEachStep(4, crash -> {
            LockHandle lock = theirs.acquire(kept.of(crash.request(), LONG));
            crash.had(crash.name(), lock.fencingToken());
            Optional<LockInfo> told = crash.during(() -> byForce.apply(lock).orElseThrow());
            boolean isForced = theirs.find(crash.name()).isEmpty();
            assertThat(database.queryForLong(
                            "select count(*) from lock_audit where lock_name = '" + crash.name() + "'"))
                    .isEqualTo(isForced ? 1 : 0);
            told.ifPresent(info -> {
                assertThat(isForced).isTrue();
                assertThat(info.fencingToken()).isEqualTo(lock.fencingToken());
            });
            if (isForced) {
                assertThat(mine.tryAcquire(crash.request())).isEmpty();
            }
            assertThat(lock.release()).isEqualTo(isForced ? ReleaseOutcome.LOST : ReleaseOutcome.RELEASED);
            database.execute("update distributed_lock set available_at = null where name = '" + crash.name() + "'");
        });
    }

    /** It is changed or not, and written down if it is, once. */
    @Test
    @Breaks("SemaphoreAdmin.setPermits(String, int, String)")
    void theLimitOfASemaphoreIsChanged() {
        atEachStep(5, crash -> {
            String name = crash.name();
            SemaphoreRequest request = SemaphoreRequest.of(name).limit(2);
            theirs.semaphore(request).tryAcquire().orElseThrow().close();
            Optional<OptionalInt> told =
                    crash.during(() -> mine.admin().semaphores().setPermits(name, 3, "to test"));
            boolean isChanged =
                    database.queryForLong("select permits from distributed_lock where name = '" + name + "'") == 3;
            assertThat(records(name)).isEqualTo(isChanged ? 1 : 0);
            told.ifPresent(before -> {
                assertThat(isChanged).isTrue();
                assertThat(before).hasValue(2);
            });
        });
    }

    private long records(String name) {
        return database.queryForLong("select count(*) from lock_audit where lock_name = '" + name + "'");
    }

    @Test
    @Breaks("SemaphoreAdmin.forceRelease(String, long, String)")
    void permitsAreReleasedByForce() {
        for (boolean isByLease : List.of(true, false)) {
            atEachStep(5, crash -> {
                String name = crash.name();
                SemaphoreRequest request = SemaphoreRequest.of(name).limit(2).permits(2);
                LockHandle both = theirs.semaphore(isByLease ? request.lease(LONG) : request)
                        .tryAcquire()
                        .orElseThrow();
                Optional<PermitInfo> told = crash.during(() -> mine.admin()
                        .semaphores()
                        .forceRelease(name, both.fencingToken(), "to test")
                        .orElseThrow());
                boolean isForced = theirs.admin().semaphores().permits(name).isEmpty();
                assertThat(records(name)).isEqualTo(isForced ? 1 : 0);
                told.ifPresent(former -> {
                    assertThat(isForced).isTrue();
                    assertThat(former.fencingToken()).isEqualTo(both.fencingToken());
                });
                assertThat(mine.semaphore(request).tryAcquire()).isEmpty();
                assertThat(both.release()).isEqualTo(isForced ? ReleaseOutcome.LOST : ReleaseOutcome.RELEASED);
                database.execute("delete from lock_holder where name = '" + name + "'");
            });
        }
    }

    /** What was not done is done by the next one, and nothing twice. */
    @Test
    @Breaks("LockAdmin.housekeep()")
    void theTablesAreTidiedUp() {
        atEachStep(20, crash -> {
            String dead = "dead " + crash.name();
            String old = "old " + crash.name();
            String idle = crash.name() + " idle";
            LockRequest orphan = crash.request(" orphan");
            rows.node(dead, false, ofMinutes(1));
            rows.heldThrough(dead, orphan.name());
            crash.had(orphan.name(), rows.row(orphan.name()).token());
            rows.node(old, true, ofDays(8));
            rows.free(ofDays(8), idle);
            runs.ended(crash.name(), ofDays(8), 2);

            crash.isDone(() -> mine.admin().housekeep());
            theirs.admin().housekeep();

            assertThat(rows.row(orphan.name()).owner()).isNull();
            assertThat(rows.names()).doesNotContain(idle);
            assertThat(rows.nodes()).doesNotContain(old);
            assertThat(theirs.admin().runs(crash.name(), Long.MAX_VALUE, 10)).hasSize(1);
            assertThat(theirs.admin().nodes("dead", LockAdmin.MAX_PAGE_SIZE))
                    .filteredOn(node -> node.id().equals(dead))
                    .singleElement()
                    .matches(node -> !node.isAlive());
        });
    }

    // Tasks

    private List<LockRun.Status> statuses(String name) {
        return theirs.admin().runs(name, Long.MAX_VALUE, 10).stream()
                .map(RunInfo::status)
                .toList();
    }

    private void runByAnother(Crash crash, TaskRequest request, TaskOutcome expected) throws Exception {
        // Until the lock is given back, if that had no answer.
        theirs.acquire(crash.request().waitAtMost(SOON)).close();
        assertThat(theirs.task(request).runIfDue(lock -> {})).isEqualTo(expected);
    }

    @Test
    @Breaks("TaskLock.runIfDue(LockedAction)")
    void aTaskRunsForTheFirstTime() {
        atEachStep(11, crash -> {
            TaskRequest request = TaskRequest.of(crash.name()).every(ofDays(365));
            AtomicInteger ran = new AtomicInteger();
            boolean isDone = crash.isDone(() -> assertThat(mine.task(request).runIfDue(lock -> ran.incrementAndGet()))
                    .isEqualTo(TaskOutcome.SUCCEEDED));
            assertThat(ran).hasValue(isDone ? 1 : 0);
            runByAnother(crash, request, isDone ? TaskOutcome.NOT_DUE : TaskOutcome.SUCCEEDED);
            assertThat(statuses(crash.name())).containsExactly(LockRun.Status.SUCCEEDED);
        });
    }

    private static final class TaskFailed extends Exception {
        private static final long serialVersionUID = 1L;
    }

    @Test
    @Breaks("TaskLock.runIfDue(LockedAction)")
    void aTaskFails() {
        atEachStep(7, crash -> {
            theirs.acquire(crash.request()).close();
            TaskRequest request = TaskRequest.of(crash.name()).every(ofDays(365));
            boolean[] hasRun = new boolean[1];
            crash.isDone(() -> {
                try {
                    mine.task(request).runIfDue(lock -> {
                        hasRun[0] = true;
                        throw new TaskFailed();
                    });
                } catch (TaskFailed failed) {
                    assertThat(hasRun[0]).isTrue();
                }
            });
            runByAnother(crash, request, hasRun[0] ? TaskOutcome.NOT_DUE : TaskOutcome.SUCCEEDED);
            assertThat(statuses(crash.name()))
                    .containsExactly(hasRun[0] ? LockRun.Status.FAILED : LockRun.Status.SUCCEEDED);
        });
    }

    @Test
    @Breaks("TaskLock.runIfDue(LockedAction)")
    void aTaskRunsWhoseLastRunIsLost() {
        atEachStep(9, crash -> {
            rows.free(ofSeconds(60), crash.request().name());
            database.execute("insert into lock_run (name, fencing_token, begun_at, status) select name, 1, acquired_at,"
                    + " 'RUNNING' from distributed_lock where name = '" + crash.name() + "'");
            TaskRequest request = TaskRequest.of(crash.name()).minimumHold(ZERO);
            boolean isDone = crash.isDone(
                    () -> assertThat(mine.task(request).runIfDue(lock -> {})).isEqualTo(TaskOutcome.SUCCEEDED));
            runByAnother(crash, request, TaskOutcome.SUCCEEDED);
            assertThat(statuses(crash.name()))
                    .containsExactlyElementsOf(
                            isDone
                                    ? List.of(LockRun.Status.SUCCEEDED, LockRun.Status.SUCCEEDED, LockRun.Status.LOST)
                                    : List.of(LockRun.Status.SUCCEEDED, LockRun.Status.LOST));
        });
    }

    // The service

    /** What proves that both ways lead to one database may stay until it is tidied up, held by nobody. */
    @Test
    @Breaks("LockServiceBuilder.build()")
    void aServiceIsBuilt() {
        atEachStep(12, crash -> {
            Set<Thread> before = Services.threads();
            crash.during(() -> settings(LockService.builder(unit))
                            .lockDataSource(connections)
                            .build())
                    .ifPresent(LockService::close);
            awaitNoThreadBut(before);
            database.execute("delete from distributed_lock where name like 'holdfast probe%'");
            assertThat(rows.names()).noneMatch(name -> name.startsWith("holdfast "));
        });
    }

    /** Whatever breaks, what it held is free soon, and its holders know. */
    private void closes(UnaryOperator<LockServiceBuilder> settings, Consumer<LockService> close) {
        atEachStep(3, crash -> {
            Set<Thread> before = Services.threads();
            LockService closed =
                    settings.apply(polling(LockService.builder(unit))).build();
            List<LockHandle> held = List.of(
                    closed.acquire(crash.request(" by node")),
                    closed.acquire(crash.request(" by lease").lease(LONG)));
            held.forEach(lock -> crash.had(lock.name(), lock.fencingToken()));
            LockHandle row = closed.acquire(crash.request(" by row").rowLock());
            assertThat(crash.isDone(() -> close.accept(closed))).isTrue();
            assertThat(row.state()).isEqualTo(LockState.LOST);
            assertThat(held).allMatch(lock -> lock.state() == LockState.LOST);
            assertThat(held).allMatch(lock -> lock.release() == ReleaseOutcome.LOST);
            awaitNoThreadBut(before);
        });
    }

    @Test
    @Breaks("LockService.close()")
    void aServiceIsClosedThatHoldsLocks() {
        closes(UnaryOperator.identity(), LockService::close);
    }

    @Test
    @Breaks("LockService.close(Duration)")
    void aServiceIsClosedAfterAWhile() {
        closes(UnaryOperator.identity(), service -> service.close(ofMillis(1)));
    }

    @Test
    void aServiceIsClosedWithALockDelay() {
        closes(builder -> builder.lockDelay(ofMillis(1)), LockService::close);
    }
}
