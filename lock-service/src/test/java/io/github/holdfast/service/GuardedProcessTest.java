package io.github.holdfast.service;

import static io.github.holdfast.test.TestDatabase.H2_TCP;
import static io.github.holdfast.test.TestDatabase.MARIADB;
import static io.github.holdfast.test.TestDatabase.MYSQL;
import static io.github.holdfast.test.TestDatabase.POSTGRESQL;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.service.GuardedWork.Acquire;
import io.github.holdfast.service.GuardedWork.Fence;
import io.github.holdfast.service.GuardedWork.Figures;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Two processes update one row under one lock. Both are frozen between their reads and writes for longer than the lease, and
 * the lock is taken from them there.
 */
@Tag("process")
@OnEachDatabase({H2_TCP, POSTGRESQL, MARIADB, MYSQL})
@TestInstance(Lifecycle.PER_CLASS) // Two processes for all tests.
class GuardedProcessTest {

    private static final int FREEZES_OF_EACH = 3;

    private Database database;
    private Services services;
    private LockService mine;
    private Ledger ledger;
    private List<GuardedProcess> workers;

    @BeforeAll
    void open(Database database) {
        this.database = database;
        services = Services.on(database);
        mine = services.build(builder -> builder.nodeLease(GuardedWork.NODE_LEASE));
        ledger = Ledger.create(database);
        workers = List.of(GuardedProcess.start(database), GuardedProcess.start(database));
    }

    @AfterAll
    void close() throws Exception {
        workers.forEach(GuardedProcess::close);
        services.close();
    }

    @ParameterizedTest
    @CsvSource({"BEFORE_THE_TRANSACTION, BY_LEASE", "INSIDE, BY_NODE"})
    void noUpdateIsLostAndNoTokenGoesBackWhoeverIsFrozenOrLosesTheLock(Acquire acquire, Kept kept) throws Exception {
        GuardedWork work = new GuardedWork(200, acquire, kept, Fence.ON, Isolation.OF_THE_SERVER);
        prepare(work);
        workers.forEach(GuardedProcess::go);
        for (int freeze = 0; freeze < FREEZES_OF_EACH; freeze++) {
            for (GuardedProcess worker : workers) {
                worker.tellToStop();
                worker.freeze(ledger, worker.awaitStop());
                worker.go();
            }
        }
        for (GuardedProcess worker : workers) {
            worker.tellToStop();
            takeTheLockFrom(worker);
        }
        assertThat(checkedEnd(work).refused()).isGreaterThanOrEqualTo((FREEZES_OF_EACH + 1) * workers.size());
    }

    private void prepare(GuardedWork work) throws InterruptedException {
        ledger.clear();
        for (GuardedProcess worker : workers) {
            worker.prepare(work);
        }
    }

    /** Waits until the work is done, and checks that all that was acknowledged has been done, one after the other. */
    private Figures checkedEnd(GuardedWork work) throws InterruptedException {
        Figures figures = end(work);
        assertThat(figures.commits()).as(work.line()).isEqualTo(workers.size() * work.commits());
        assertThat(ledger.faults(figures.commits())).as(work.line()).isEmpty();
        // On a busy machine, a process may do most of its work before the other one has its turn.
        assertThat(ledger.handovers()).as("changes of hands").isGreaterThanOrEqualTo(work.commits() / 40);
        return figures;
    }

    private Figures end(GuardedWork work) throws InterruptedException {
        Figures figures = workers.get(0).end().plus(workers.get(1).end());
        System.out.printf(
                "%s, %s: %s, %d grants, %d handovers, the number is %d%n",
                database, work.line(), figures, ledger.grants(), ledger.handovers(), ledger.amount());
        return figures;
    }

    private void takeTheLockFrom(GuardedProcess worker) throws InterruptedException {
        worker.awaitStop();
        mine.admin().forceRelease(GuardedWork.LOCK, "to see the commit fail");
        worker.go();
    }

    @Test
    void withoutAFenceAnUpdateIsLost() throws Exception {
        GuardedWork work =
                new GuardedWork(10, Acquire.BEFORE_THE_TRANSACTION, Kept.BY_LEASE, Fence.OFF, Isolation.READ_COMMITTED);
        prepare(work);
        GuardedProcess late = workers.get(0);
        late.tellToStop();
        late.go();
        long token = late.awaitStop();
        workers.get(1).go();
        late.freeze(ledger, token);
        late.go();
        assertThat(ledger.amount()).isLessThan(end(work).commits());
    }

    @ParameterizedTest
    @CsvSource({"BEFORE_AND_INSIDE, BY_LEASE", "INSIDE, BY_NODE"})
    void noUpdateIsLostAtIsolationLevelsThatReadFromASnapshot(Acquire acquire, Kept kept) throws Exception {
        for (Isolation isolation : Isolation.ofSnapshots(database.kind())) {
            GuardedWork work = new GuardedWork(40, acquire, kept, Fence.ON, isolation);
            prepare(work);
            workers.get(0).tellToStop();
            workers.forEach(GuardedProcess::go);
            takeTheLockFrom(workers.get(0));
            assertThat(checkedEnd(work).refused()).as(work.line()).isBetween(1, work.commits());
        }
    }
}
