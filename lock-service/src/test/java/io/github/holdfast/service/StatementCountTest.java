package io.github.holdfast.service;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofDays;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.election.ElectionRequest;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.semaphore.Semaphore;
import io.github.holdfast.semaphore.SemaphoreRequest;
import io.github.holdfast.task.TaskRequest;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.jdbc.CountingDataSource;
import io.github.holdfast.test.sources.ProjectDirectory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What each operation costs in statements and commits; the table in {@code docs/understand/performance.md} is this one. */
@Tag(OnEachDatabase.EVERYWHERE)
@OnEachDatabase
class StatementCountTest {

    /** Restarts the lease of a write that took more than a second, as on a busy machine. */
    private static final Pattern RESTART =
            Pattern.compile("update distributed_lock \\w+ set (acquired_at|expires_at)=");

    /** On a fast machine, so many releases follow each other that the service reads in the background whether another one waits. */
    private static final Pattern WAITING_NODES = Pattern.compile("select count\\(\\*\\) from lock_node");

    private static final Path DOCUMENT = ProjectDirectory.resolve("docs/understand/performance.md");
    private static final LockRequest REQUEST = LockRequest.of("counted").lease(ofSeconds(60));

    private static final String ON_MYSQL = ", MySQL and MariaDB";

    private final List<String> table = new ArrayList<>();
    private boolean isH2;

    @Test
    void eachOperationCostsWhatTheDocumentSays(Database database) throws Exception {
        isH2 = database.kind().isH2();
        try (Services services = Services.on(database)) {
            CountingDataSource counting = new CountingDataSource(database.dataSource());
            LockService mine = services.build(
                    services.opened(database.pool(pool -> pool.setDataSource(counting))),
                    // No heartbeat comes by itself, and what is over is free at once.
                    builder -> settings(builder.nodeLease(ofMinutes(30)).clockTolerance(Duration.ZERO)));
            awaitReady(counting);
            LockService theirs = services.open();

            counting.reset();
            LockHandle first = mine.tryAcquire(REQUEST).orElseThrow();
            boolean countsHolders = database.kind() == TestDatabase.MYSQL || database.kind() == TestDatabase.MARIADB;
            row("first acquisition of a name" + (countsHolders ? ON_MYSQL : ""), counting, countsHolders ? 4 : 3, 0);
            first.release();
            row("release", counting, 1, 0);
            LockHandle outer = mine.acquire(REQUEST);
            row("acquire, free, last held by this process", counting, 1, 0);
            LockHandle inner = mine.acquire(REQUEST);
            row("acquire, nested in the same thread", counting, 1, 0);
            outer.renew(ofSeconds(60));
            row("renew", counting, 1, 0);
            inner.release();
            row("release, nested", counting, 1, 0);
            outer.state();
            outer.remaining();
            outer.ensureValidFor(ofSeconds(1));
            row("state, remaining, ensureValidFor while that is left", counting, 0, 0);
            mine.find("counted");
            row("find", counting, 1, 0);
            outer.release();
            counting.reset();
            LockHandle fair = mine.acquire(REQUEST.fair());
            row("acquire, free, fair", counting, 3, 0);
            fair.release();
            counting.reset();

            LockHandle held = theirs.acquire(REQUEST);
            assertThat(mine.tryAcquire(REQUEST)).isEmpty();
            row("tryAcquire, held by another, previously by this process", counting, 2, 0);
            assertThat(mine.tryAcquire(REQUEST)).isEmpty();
            row("tryAcquire, held by another", counting, 1, 0);
            held.release();

            LockHandle chosen = mine.acquire(REQUEST.owner("chosen"));
            row("acquire, free, last held by another process", counting, 2, 0);
            LockHandle again = mine.acquire(REQUEST.owner("chosen"));
            row("acquire, nested, chosen owner", counting, 2, 0);
            again.release();
            row("release, nested, chosen owner", counting, 1, 1);
            chosen.release();
            row("release, chosen owner, after others of the same owner", counting, 3, 1);
            countTurns(mine, theirs, counting);
            countNodes(mine, counting, database);
            countRowLocks(mine, services.open(), counting);
            countTasks(mine, theirs, counting);
            countPermits(mine, counting);
            countShares(mine, theirs, counting);
            countElections(mine, theirs, services.open(), counting);
        }
        assertThat(document()).contains(table.get(0), String.join("\n", table.subList(1, table.size())));
    }

    /** What else the service is built with that is counted. */
    LockServiceBuilder settings(LockServiceBuilder builder) {
        return builder;
    }

    /** Waits until that does what it does once. */
    void awaitReady(CountingDataSource counting) {}

    private void countTurns(LockService mine, LockService theirs, CountingDataSource counting) throws Exception {
        mine.acquire(REQUEST).close();
        theirs.acquire(REQUEST).close();
        counting.reset();
        LockHandle surprised = mine.acquire(REQUEST);
        row("acquire, free, held by another process since", counting, 3, 0);
        surprised.close();
        theirs.acquire(REQUEST).close();
        counting.reset();
        LockHandle expected = mine.acquire(REQUEST);
        row("acquire, free, two processes in turn", counting, 2, 0);
        expected.close();
        // This one again shows that the turns are over.
        mine.acquire(REQUEST).close();
        counting.reset();
        LockHandle alone = mine.acquire(REQUEST);
        row("acquire, free, after the turns", counting, 1, 0);
        alone.close();
        counting.reset();
    }

    private void countNodes(LockService mine, CountingDataSource counting, Database database) throws Exception {
        LockRequest request = LockRequest.of("counted");
        LockHandle first = mine.acquire(request);
        row("first acquisition without a lease by a service", counting, 2, 1);
        first.release();
        counting.reset();
        LockHandle outer = mine.acquire(request);
        row("acquire without a lease, free, last held by this process", counting, 1, 0);
        LockHandle inner = mine.acquire(request);
        row("acquire without a lease, nested in the same thread", counting, 1, 0);
        inner.release();
        row("release without a lease, nested", counting, 1, 0);
        outer.renew(ofSeconds(30));
        row("heartbeat, whatever the number of locks", counting, 1, 1);
        mine.admin().forceRelease("counted", "to count");
        row("forced release", counting, 6, 1);
        assertThat(outer.release()).isEqualTo(ReleaseOutcome.LOST);
        database.execute(
                "update distributed_lock set owner = 'dead', node_id = 'dead', hold_count = 1, available_at = null",
                "insert into lock_node (id, started_at, expires_at, ended, version) select 'dead', started_at, started_at, ended,"
                        + " 0 from lock_node");
        counting.reset();
        LockHandle takenOver = mine.acquire(request.notReentrant());
        row("acquire without a lease, left by a dead node", counting, 4, 1);
        takenOver.release();
        row("release without a lease", counting, 1, 0);
    }

    private void countRowLocks(LockService mine, LockService theirs, CountingDataSource counting) {
        LockRequest request = LockRequest.of("row").rowLock();
        mine.tryAcquire(request).orElseThrow().close();
        counting.reset();
        LockHandle lock = mine.tryAcquire(request).orElseThrow();
        row("row lock, free", counting, 2, 1);
        mine.tryAcquire(request).orElseThrow().close();
        row("row lock, nested in the same thread", counting, 0, 0);
        lock.close();
        endOfRowTransaction("row lock, release (rolls back)", counting, 0, 0);
        try (LockHandle other = theirs.tryAcquire(request).orElseThrow()) {
            counting.reset();
            assertThat(mine.tryAcquire(request)).isEmpty();
            assertThat(other.state()).isEqualTo(LockState.HELD);
            endOfRowTransaction("row lock, held by another", counting, 2, 1);
        }
    }

    private void countPermits(LockService mine, CountingDataSource counting) {
        Semaphore semaphore =
                mine.semaphore(SemaphoreRequest.of("semaphore").limit(1).lease(ofSeconds(60)));
        counting.reset();
        LockHandle first = semaphore.tryAcquire().orElseThrow();
        row("permits, first acquisition from a semaphore", counting, 7, 4);
        releaseOfPermits(first, counting);
        LockHandle permit = semaphore.tryAcquire().orElseThrow();
        row("permits, acquire", counting, 4, 2);
        permit.renew(ofMinutes(2));
        row("permits, renew", counting, 1, 1);
        assertThat(semaphore.tryAcquire()).isEmpty();
        row("permits, too few left", counting, 2, 2);
        releaseOfPermits(permit, counting);
        table.add("| permits, release | 1 | 1 |");
    }

    private void countShares(LockService mine, LockService theirs, CountingDataSource counting) {
        LockRequest shared = LockRequest.of("shared").lease(ofSeconds(60)).shared();
        theirs.tryAcquire(shared).orElseThrow().close();
        counting.reset();
        LockHandle first = mine.tryAcquire(shared).orElseThrow();
        row("shared lock, acquire", counting, 4, 1);
        LockHandle nested = mine.tryAcquire(shared).orElseThrow();
        row("shared lock, nested in the same thread", counting, 1, 1);
        nested.close();
        row("shared lock, nested release", counting, 0, 0);
        // This thread could not ask for more than it has.
        first.detach();
        LockRequest alone = LockRequest.of("shared").lease(ofSeconds(60));
        assertThat(mine.tryAcquire(alone)).isEmpty();
        row("acquire, shared by others", counting, 2, 1);
        releaseOfPermits(first, counting);
        table.add("| shared lock, release | 1 | 1 |");
        LockHandle exclusive = mine.tryAcquire(alone).orElseThrow();
        row("acquire after the last share", counting, 3, 1);
        LockHandle downgraded = exclusive.downgrade();
        awaitLook(2, 1, counting);
        table.add("| downgrade to a shared lock | 2 | 1 |");
        releaseOfPermits(downgraded, counting);
        counting.reset();
        countJoins(mine, LockRequest.of("shared").shared(), counting);
    }

    private void countJoins(LockService mine, LockRequest shared, CountingDataSource counting) {
        LockHandle first = mine.tryAcquire(shared).orElseThrow().detach();
        row("shared lock without a lease, acquire", counting, 4, 1);
        LockHandle joined = mine.tryAcquire(shared).orElseThrow();
        row("shared lock without a lease, another thread of the process shares it", counting, 0, 0);
        LockHandle nested = mine.tryAcquire(shared).orElseThrow();
        row("shared lock without a lease, nested in the same thread", counting, 0, 0);
        nested.release();
        first.release();
        row("shared lock without a lease, release, another thread of the process shares it", counting, 0, 0);
        releaseOfPermits(joined, counting);
    }

    private void countElections(LockService mine, LockService theirs, LockService others, CountingDataSource counting) {
        ElectionRequest request = ElectionRequest.of("election");
        try (LeaderElection leading = theirs.election(request);
                LeaderElection waiting = others.election(request)) {
            leading.start();
            await().atMost(ofSeconds(60)).until(leading::isLeader);
            counting.reset();
            assertThat(mine.admin().elections("", 100)).hasSize(1);
            row("list of elections, one with a leader, no node waits", counting, 2, 2);
            waiting.start();
            await().atMost(ofSeconds(60))
                    .until(() -> !others.admin().waitingNodes("election").isEmpty());
            counting.reset();
            assertThat(mine.admin().elections("", 100))
                    .allSatisfy(election -> assertThat(election.waiting()).hasSize(1));
            row("list of elections, one with a leader, one node waits", counting, 2, 2);
        }
    }

    /** Where releases wake waiters, the release of permits looks for one in the background. That look is not in the table. */
    private void releaseOfPermits(LockHandle permits, CountingDataSource counting) {
        permits.release();
        awaitLook(1, 1, counting);
    }

    /** Awaits these statements and commits, and those of the look for a waiter. */
    private void awaitLook(int statements, int commits, CountingDataSource counting) {
        int looks = isH2 ? 0 : 1;
        await().atMost(ofSeconds(60)).until(() -> counting.commits() == commits + looks);
        assertThat(counting.sql()).hasSize(statements + looks);
        counting.reset();
    }

    private void countTasks(LockService mine, LockService theirs, CountingDataSource counting) {
        TaskRequest request = TaskRequest.of("task");
        mine.task(request.minimumHold(ZERO)).runIfDue(lock -> {});
        counting.reset();
        mine.task(request.minimumHold(ZERO)).runIfDue(lock -> {});
        row("task, a run", counting, 6, 2);
        mine.task(request.every(ofDays(365))).runIfDue(lock -> {});
        row("task, not due", counting, 2, 1);
        theirs.task(request.minimumHold(ZERO)).runIfDue(held -> {
            counting.reset();
            mine.task(request.every(ofDays(365))).runIfDue(lock -> {});
            row("task, run by another", counting, 1, 1);
        });
    }

    /** A rollback, beside the commits; on H2 one commit more. */
    private void endOfRowTransaction(String operation, CountingDataSource counting, int statements, int commits) {
        assertThat(counting.rollbacks()).as(operation + ": rollbacks").isEqualTo(isH2 ? 0 : 1);
        add(operation, counting, statements, commits, isH2 ? commits + 1 : commits);
    }

    private void row(String operation, CountingDataSource counting, int statements, int commits) {
        assertThat(counting.rollbacks()).as(operation + ": rollbacks").isZero();
        add(operation, counting, statements, commits, commits);
    }

    private void add(String operation, CountingDataSource counting, int statements, int commits, int commitsHere) {
        List<String> sql = counting.sql().stream()
                .filter(statement -> !RESTART.matcher(statement).lookingAt()
                        && !WAITING_NODES.matcher(statement).lookingAt())
                .toList();
        int restarts = counting.sql().size() - sql.size();
        assertThat(sql).as(operation).hasSize(statements);
        assertThat(counting.commits()).as(operation + ": commits").isBetween(commitsHere, commitsHere + restarts);
        counting.reset();
        table.add("| %s | %d | %d |".formatted(operation, statements, commits));
    }

    private static String document() throws IOException {
        return Files.readString(DOCUMENT);
    }
}
