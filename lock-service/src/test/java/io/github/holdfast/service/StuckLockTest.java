package io.github.holdfast.service;

import static io.github.holdfast.service.Runbook.LOCK;
import static java.time.Duration.ofDays;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.test.OnEachDatabase;
import java.sql.Connection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** Locks that are stuck for each reason that the page of runbooks knows: the page alone frees them. */
@OnEachDatabase
class StuckLockTest extends OnRunbookPage {

    @Test
    void theHolderIsSeen() throws Exception {
        LockService mine = service();
        LockHandle lock = mine.acquire(REQUEST);

        Map<String, Object> row = holder();

        assertThat(row.get("holder")).asString().startsWith(mine.admin().process());
        assertThat(row)
                .containsEntry("fencing_token", lock.fencingToken())
                .extractingByKey("node")
                .isNotNull();
    }

    /** Its node's lease is over, but its session is in a transaction, which it does not end. */
    @Test
    void theSessionOfAFrozenProcessIsEnded() throws Exception {
        rows.node("frozen", false, ofSeconds(9));
        rows.heldThrough("frozen", LOCK);
        assertThat(holder())
                .containsEntry("owner", "somebody")
                .containsEntry("node_id", "frozen")
                .containsEntry("node", "a test");

        endTheSessionThatBlocks();
    }

    @Test
    void aLockOfANodeThatNeverExistedIsFree() throws Exception {
        rows.heldThrough("nobody", LOCK);
        assertThat(holder())
                .containsEntry("owner", "somebody")
                .containsEntry("node_id", "nobody")
                .containsEntry("node_expires_at", null);

        service().acquire(REQUEST).close();
    }

    /** The row names no holder, as if somebody had written it by hand. */
    @Test
    void theLeaseOfAnOwnerThatNeverExistedIsEnded() throws Exception {
        rows.leased(ofDays(-9), LOCK);
        assertThat(holder())
                .containsEntry("owner", "somebody")
                .containsEntry("holder", null)
                .containsEntry("node_id", null);

        endTheLease(0);
    }

    @Test
    void aLeaseWithoutAnEndIsEnded() throws Exception {
        rows.leased(ofDays(9), LOCK);
        database.execute("update distributed_lock set acquired_at = null, expires_at = null");

        endTheLease(0);
    }

    /** As if the database's clock had been set back. */
    @Test
    void aDeadNodeWhoseLeaseDoesNotEndIsEnded() throws Exception {
        rows.node("dead", false, ofDays(-9));
        rows.heldThrough("dead", LOCK);

        endTheLease(3);
    }

    private void endTheLease(int statement) throws Exception {
        LockService mine = service();
        assertThat(mine.tryAcquire(LockRequest.of(LOCK))).isEmpty();

        assertThat(runbook.change(
                        runbook.step("End the lease of a dead process").get(statement),
                        Runbook.number(List.of(holder()), "fencing_token")))
                .isEqualTo(1);

        mine.acquire(REQUEST).close();
    }

    private Map<String, Object> holder() {
        return runbook.query(runbook.step("Find the holder of the lock").get(0)).get(0);
    }

    @Test
    void thoseWhoShareALockAreSeen() throws Exception {
        LockHandle share = service().acquire(REQUEST.shared());

        assertThat(runbook.query(runbook.step("Look at the holders").get(0)))
                .singleElement()
                .satisfies(row -> assertThat(row).containsEntry("fencing_token", share.fencingToken()));
    }

    @Test
    void theLeaseOfADeadProcessIsEnded() throws Exception {
        LockHandle abandoned = service().acquire(REQUEST.lease(ofHours(9)));
        LockService mine = service();
        assertThat(mine.tryAcquire(LockRequest.of(LOCK))).isEmpty();
        List<String> ends = runbook.step("End the lease of a dead process");

        assertThat(runbook.change(ends.get(0), abandoned.fencingToken() + 1)).isZero();
        assertThat(runbook.change(ends.get(0), abandoned.fencingToken())).isEqualTo(1);

        assertThat(mine.acquire(REQUEST).fencingToken()).isGreaterThan(abandoned.fencingToken());
    }

    @Test
    void theShareOfADeadProcessIsEnded() throws Exception {
        LockHandle abandoned = service().acquire(REQUEST.shared().lease(ofHours(9)));
        LockService mine = service();
        assertThat(mine.tryAcquire(LockRequest.of(LOCK))).isEmpty();

        assertThat(runbook.change(
                        runbook.step("End the lease of a dead process").get(1), abandoned.fencingToken()))
                .isEqualTo(1);

        assertThat(mine.acquire(REQUEST).fencingToken()).isGreaterThan(abandoned.fencingToken());
    }

    @Test
    void aForcedReleaseOfADeadProcessNeedNotBeAwaited() throws Exception {
        LockService mine = service();
        LockHandle abandoned = service().acquire(REQUEST.lease(ofHours(9)));
        mine.admin().forceRelease(LOCK, "hangs");
        assertThat(mine.tryAcquire(LockRequest.of(LOCK))).isEmpty();

        assertThat(runbook.change(
                        runbook.step("End the lease of a dead process").get(2), abandoned.fencingToken()))
                .isEqualTo(1);

        mine.acquire(REQUEST).close();
    }

    @Test
    void theSessionThatKeepsOthersWaitingIsEnded() throws Exception {
        service().acquire(REQUEST).close();

        endTheSessionThatBlocks();
    }

    private void endTheSessionThatBlocks() throws Exception {
        LockService mine = service();
        List<String> step = runbook.step("End the session");
        ExecutorService waiting = Executors.newSingleThreadExecutor();
        Connection frozen = rows.locking(LOCK);
        try {
            Future<LockHandle> acquired = waiting.submit(() -> mine.acquire(REQUEST));

            List<Map<String, Object>> seen =
                    await().atMost(SOON).until(() -> runbook.query(step.get(0)), list -> !list.isEmpty());
            runbook.end(step.get(1), Runbook.number(seen, "blocking"));

            acquired.get().close();
            // MariaDB shows what it knew a moment ago.
            await().atMost(SOON).until(() -> runbook.query(step.get(0)), List::isEmpty);
        } finally {
            waiting.shutdownNow();
            frozen.abort(Runnable::run);
        }
    }
}
