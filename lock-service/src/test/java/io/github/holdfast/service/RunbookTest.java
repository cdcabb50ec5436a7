package io.github.holdfast.service;

import static io.github.holdfast.service.Runbook.LOCK;
import static io.github.holdfast.service.Runbook.TASK;
import static java.time.Duration.ofDays;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.task.TaskLock;
import io.github.holdfast.task.TaskOutcome;
import io.github.holdfast.task.TaskRequest;
import io.github.holdfast.test.OnEachDatabase;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What the page of runbooks tells an operator to execute does what it says; {@link StuckLockTest} is about locks that are stuck. */
@OnEachDatabase
class RunbookTest extends OnRunbookPage {

    private static TaskLock task(LockService service) {
        return service.task(TaskRequest.of(TASK).every(ofDays(365)));
    }

    @Test
    void allStatementsAreValid() {
        assertThat(runbook.statements()).hasSizeGreaterThan(15).allSatisfy(runbook::execute);
    }

    @Test
    void aForcedReleaseIsOnRecord() throws Exception {
        LockService mine = service();
        LockHandle lock = mine.acquire(REQUEST);
        mine.admin().forceRelease(LOCK, lock.fencingToken(), "hangs");

        for (String step : List.of("The process lives", "Check what else happened")) {
            assertThat(runbook.query(runbook.step(step).get(0)))
                    .as(step)
                    .singleElement()
                    .satisfies(row -> assertThat(row).containsEntry("reason", "hangs"));
        }
    }

    @Test
    void onlyNodesThatDiedAreListed() throws Exception {
        rows.node("died", true, ofSeconds(9));
        LockService stopped = service();
        stopped.acquire(REQUEST);
        stopped.close();

        assertThat(runbook.query(runbook.step("Check what else happened").get(1)))
                .singleElement()
                .satisfies(row -> assertThat(row).containsEntry("description", "a test"));
    }

    @Test
    void aLostRunIsRepeated() throws Exception {
        LockService mine = service();
        assertThat(task(mine).runIfDue(lock -> {})).isEqualTo(TaskOutcome.SUCCEEDED);
        database.execute("update lock_run set status = 'LOST'");
        assertThat(task(mine).runIfDue(lock -> {})).isEqualTo(TaskOutcome.NOT_DUE);
        List<Map<String, Object>> lost =
                runbook.query(runbook.step("Find out what was done").get(0));

        assertThat(runbook.change(runbook.step("Repeat a lost run").get(0), Runbook.number(lost, "fencing_token")))
                .isEqualTo(1);

        assertThat(task(mine).runIfDue(lock -> {})).isEqualTo(TaskOutcome.SUCCEEDED);
    }

    /** The rows are set back to what they were before the last grants, as by a backup. */
    @Test
    void aRestoredDatabaseForgetsNoToken() throws Exception {
        LockService before = service();
        before.acquire(REQUEST).close();
        long backup = rows.row(LOCK).token();
        long greatest = 0;
        for (int grant = 0; grant < 3; grant++) {
            LockHandle lock = before.acquire(REQUEST.lease(ofHours(9)));
            greatest = lock.fencingToken();
            lock.close();
        }
        before.close();
        database.execute("update distributed_lock set fencing_token = " + backup + ", version = " + backup
                + ", owner = 'before', hold_count = 1, expires_at = acquired_at + interval '9' hour");
        assertThat(rows.row(LOCK).token()).isLessThan(greatest);

        List<String> raise = runbook.step("Raise the tokens");
        assertThat(runbook.change(raise.get(0), backup)).isEqualTo(1);
        runbook.step("End the leases")
                .forEach(sql -> assertThat(runbook.change(sql, backup)).isBetween(0, 1));

        assertThat(database.queryForLong(raise.get(1))).isZero();
        assertThat(rows.row(LOCK).version()).isGreaterThan(greatest);
        assertThat(service().acquire(REQUEST).fencingToken()).isGreaterThan(greatest);
    }

    @Test
    void aTaskThatRanAfterTheBackupIsNotRepeated() throws Exception {
        LockService mine = service();
        assertThat(task(mine).runIfDue(lock -> {})).isEqualTo(TaskOutcome.SUCCEEDED);
        database.execute("delete from lock_run");

        runbook.change(runbook.step("Raise the tokens").get(0), 0);
        assertThat(runbook.change(runbook.step("Decide about the tasks").get(0), 0))
                .isEqualTo(1);

        assertThat(task(mine).runIfDue(lock -> {})).isEqualTo(TaskOutcome.NOT_DUE);
        assertThat(mine.admin().lastRuns("", 10))
                .singleElement()
                .satisfies(run ->
                        assertThat(run.fencingToken()).isEqualTo(rows.row(TASK).token()));
    }
}
