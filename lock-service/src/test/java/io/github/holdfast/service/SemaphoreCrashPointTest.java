package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.semaphore.SemaphoreRequest;
import io.github.holdfast.service.LateCommits.Fate;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.jdbc.FaultyDataSource.Fault;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The connection breaks in what is done with the permits of a semaphore. Afterwards, an acquisition that succeeded has one row, one
 * that failed soon has none, and no more permits are granted than the limit says.
 */
@Tag("crash-point")
@OnEachDatabase
class SemaphoreCrashPointTest extends CrashPoints {

    private static final int LIMIT = 2;

    /** How permits are held. */
    enum Held {
        BY_LEASE {
            @Override
            SemaphoreRequest of(SemaphoreRequest request) {
                return request.lease(LONG);
            }
        },
        BY_NODE {
            @Override
            SemaphoreRequest of(SemaphoreRequest request) {
                return request;
            }
        };

        abstract SemaphoreRequest of(SemaphoreRequest request);
    }

    /** What is done at each point, anew. */
    private interface PermitScenario {
        void at(Point point) throws Exception;
    }

    @Override
    LockServiceBuilder settings(LockServiceBuilder builder) {
        return super.settings(builder).clockTolerance(Duration.ZERO);
    }

    private void atEachPoint(int atLeast, PermitScenario scenario) {
        atEachStepAndLateCommit(atLeast, crash -> at(new Point(crash), scenario));
    }

    /** Until its commit arrives, a transaction has its rows locked, and the call gives up. Each such point takes seconds. */
    private void atEachPointWithALateCommitAfterTheCall(int atLeast, PermitScenario scenario) {
        atEachStep(Fault.DELAYED, Fate.LANDS_AFTER_THE_CALL, atLeast, crash -> at(new Point(crash), scenario));
    }

    private static void at(Point point, PermitScenario scenario) throws Exception {
        scenario.at(point);
        point.end();
    }

    /** One point at which a connection breaks, with a semaphore of its own. */
    private final class Point {

        private final Crash crash;
        private final List<LockHandle> kept = new ArrayList<>();
        private long greatestToken;

        Point(Crash crash) {
            this.crash = crash;
        }

        String name() {
            return crash.name();
        }

        SemaphoreRequest request() {
            return SemaphoreRequest.of(name()).limit(LIMIT).waitAtMost(SOON);
        }

        /** Creates the semaphore before the connection breaks. */
        void create() {
            LockHandle first = theirs.semaphore(request()).tryAcquire().orElseThrow();
            had(first);
            assertThat(first.release()).isEqualTo(ReleaseOutcome.RELEASED);
        }

        /** Acquires before the connection breaks. */
        LockHandle held(SemaphoreRequest request) {
            LockHandle permits = mine.semaphore(request).tryAcquire().orElseThrow();
            keep(permits);
            return permits;
        }

        private void keep(LockHandle permits) {
            had(permits);
            kept.add(permits);
        }

        void had(LockHandle permits) {
            assertThat(permits.fencingToken()).as("token").isGreaterThan(greatestToken);
            greatestToken = permits.fencingToken();
        }

        /** Does it while a connection breaks. */
        <T> Optional<T> during(Callable<T> call) throws Exception {
            return crash.during(call);
        }

        boolean isDone(Crash.Work work) throws Exception {
            return crash.isDone(work);
        }

        boolean isCommittedAfter(Crash.Work work) throws Exception {
            return crash.isCommittedAfter(work);
        }

        /** Either the caller has the permits, and has one row, or soon there is no row. */
        void acquire(Callable<LockHandle> acquisition) throws Exception {
            Optional<LockHandle> acquired = during(acquisition);
            assertThat(permits()).as("permits").isLessThanOrEqualTo(LIMIT);
            acquired.ifPresent(this::keep);
            assertAllHeld();
        }

        /** The permits that are kept are held, each by one row. Soon there are no other rows. */
        void assertAllHeld() {
            for (LockHandle permits : kept) {
                assertThat(permits.state()).isEqualTo(LockState.HELD);
                assertThat(rowsOf(permits)).as("rows of the holder").isEqualTo(1);
            }
            awaitRows(kept.size());
        }

        void awaitRows(int count) {
            await("rows of " + name())
                    .pollDelay(Duration.ZERO)
                    .pollInterval(ofMillis(10))
                    .atMost(SOON)
                    .until(() -> {
                        assertThat(permits()).as("permits").isLessThanOrEqualTo(LIMIT);
                        return rows() == count;
                    });
        }

        long permits() {
            return count("coalesce(sum(permits), 0)", "");
        }

        private long rows() {
            return count("count(*)", "");
        }

        private long rowsOf(LockHandle permits) {
            return count(
                    "count(*)", " and owner = '" + permits.owner() + "' and fencing_token = " + permits.fencingToken());
        }

        private long count(String what, String condition) {
            return database.queryForLong(
                    "select " + what + " from lock_holder where name = '" + name() + "'" + condition);
        }

        void release(LockHandle permits) throws Exception {
            kept.remove(permits);
            assertThat(during(permits::release)).hasValueSatisfying(Point::assertGivenBack);
        }

        static void assertGivenBack(ReleaseOutcome outcome) {
            assertThat(outcome).isIn(ReleaseOutcome.RELEASED, ReleaseOutcome.UNRESOLVED);
        }

        /** Releases what is kept. Then each service can acquire all permits. */
        void end() throws Exception {
            for (LockHandle permits : kept) {
                assertGivenBack(permits.release());
            }
            for (LockService next : List.of(theirs, mine)) {
                LockHandle all = next.semaphore(request().permits(LIMIT)).acquire();
                had(all);
                assertThat(rows()).as("rows").isEqualTo(1);
                assertThat(all.release()).isEqualTo(ReleaseOutcome.RELEASED);
            }
            awaitRows(0);
        }
    }

    // Acquisitions

    @ParameterizedTest
    @EnumSource
    @Breaks("Semaphore.tryAcquire()")
    void aPermitIsAcquiredIfOneIsLeft(Held held) {
        atEachPoint(5, acquisition(held));
    }

    @ParameterizedTest
    @EnumSource
    void aGrantIsUndoneThatArrivesAfterTheCall(Held held) {
        atEachPointWithALateCommitAfterTheCall(5, acquisition(held));
    }

    private PermitScenario acquisition(Held held) {
        return point -> {
            point.create();
            point.acquire(
                    () -> mine.semaphore(held.of(point.request())).tryAcquire().orElseThrow());
        };
    }

    @ParameterizedTest
    @EnumSource
    @Breaks("Semaphore.acquire()")
    void theLastPermitIsAcquired(Held held) {
        atEachPoint(5, point -> {
            point.held(Held.BY_LEASE.of(point.request()));
            point.acquire(() -> mine.semaphore(held.of(point.request())).acquire());
        });
    }

    @ParameterizedTest
    @EnumSource
    @Breaks("Semaphore.acquire()")
    void aPermitIsAcquiredForTheFirstTime(Held held) {
        atEachPoint(
                8,
                point -> point.acquire(
                        () -> mine.semaphore(held.of(point.request())).acquire()));
    }

    @Test
    @Breaks("Semaphore.tryAcquire()")
    void whoFindsNoPermitLeftGetsNone() {
        atEachPoint(4, point -> {
            LockHandle both = theirs.semaphore(point.request().permits(LIMIT).lease(LONG))
                    .tryAcquire()
                    .orElseThrow();
            point.had(both);
            point.during(() -> mine.semaphore(point.request()).tryAcquire())
                    .ifPresent(permit -> assertThat(permit).isEmpty());
            point.awaitRows(1);
            assertThat(both.state()).isEqualTo(LockState.HELD);
            assertThat(both.release()).isEqualTo(ReleaseOutcome.RELEASED);
        });
    }

    /** Why the holder of all permits is dead. */
    enum Former {
        NODE_THAT_IS_OVERDUE(false, ofMinutes(1)),
        NODE_THAT_HAS_ENDED(true, ofMinutes(1)),
        LEASE_THAT_IS_OVER(true, ofMinutes(1));

        private final boolean isNodeEnded;
        private final Duration over;

        Former(boolean isNodeEnded, Duration over) {
            this.isNodeEnded = isNodeEnded;
            this.over = over;
        }
    }

    private void hold(Former former, Point point) {
        point.create();
        String node = "dead " + point.name();
        rows.node(node, former.isNodeEnded, former.over);
        String kept = former == Former.LEASE_THAT_IS_OVER ? "null, n.expires_at" : "n.id, null";
        database.execute("insert into lock_holder"
                + " (name, fencing_token, owner, permits, acquired_at, node_id, expires_at)"
                + " select l.name, l.fencing_token, 'former', "
                + LIMIT
                + ", n.started_at, "
                + kept
                + " from distributed_lock l, lock_node n where l.name = '"
                + point.name()
                + "' and n.id = '"
                + node
                + "'");
        assertThat(point.permits()).isEqualTo(LIMIT);
    }

    @ParameterizedTest
    @EnumSource
    @Breaks("Semaphore.acquire()")
    void permitsAreAcquiredThatADeadHolderHas(Former former) {
        atEachPoint(8, point -> {
            hold(former, point);
            Optional<LockHandle> acquired = point.during(
                    () -> mine.semaphore(point.request().permits(LIMIT)).acquire());
            assertThat(point.permits()).isLessThanOrEqualTo(LIMIT);
            acquired.ifPresent(point::keep);
            assertThat(database.queryForLong("select count(*) from lock_holder where owner = 'former' and name = '"
                            + point.name()
                            + "'"))
                    .as("rows of the dead holder")
                    .isLessThanOrEqualTo(acquired.isPresent() ? 0 : 1);
            if (acquired.isPresent()) {
                point.assertAllHeld();
            }
        });
    }

    // Holders

    @Test
    @Breaks("LockHandle.renew(Duration)")
    void aLeaseIsRenewed() {
        atEachPoint(2, point -> {
            LockHandle permit = point.held(point.request().lease(ofMinutes(3)));
            boolean isRenewed = point.isDone(() -> permit.renew(LONG));
            point.assertAllHeld();
            assertThat(permit.remaining()).isGreaterThan(isRenewed ? LONG.minusMinutes(1) : ofMinutes(2));
        });
    }

    @ParameterizedTest
    @EnumSource
    @Breaks("LockHandle.release()")
    void aPermitIsReleased(Held held) {
        atEachPoint(2, release(held));
    }

    @ParameterizedTest
    @EnumSource
    void aReleaseArrivesAfterTheCall(Held held) {
        atEachPointWithALateCommitAfterTheCall(2, release(held));
    }

    private PermitScenario release(Held held) {
        return point -> {
            point.held(held.of(point.request()));
            point.release(point.held(held.of(point.request())));
            point.assertAllHeld();
        };
    }

    @Test
    @Breaks("Semaphore.call(LockedTask)")
    void aTaskIsCalledUnderAPermit() {
        atEachPoint(7, point -> {
            point.create();
            AtomicInteger ran = new AtomicInteger();
            Optional<Integer> result = point.during(
                    () -> mine.semaphore(Held.BY_LEASE.of(point.request())).call(permit -> {
                        point.had(permit);
                        return ran.incrementAndGet();
                    }));
            assertThat(ran).hasValue(result.orElse(0));
            point.awaitRows(0);
        });
    }

    @Test
    @Breaks("Semaphore.run(LockedAction)")
    void anActionRunsUnderAPermit() {
        atEachPoint(7, point -> {
            point.create();
            AtomicInteger ran = new AtomicInteger();
            boolean isDone = point.isDone(
                    () -> mine.semaphore(Held.BY_NODE.of(point.request())).run(permit -> {
                        point.had(permit);
                        ran.incrementAndGet();
                    }));
            assertThat(ran).hasValue(isDone ? 1 : 0);
            point.awaitRows(0);
        });
    }

    /** Rows that nobody knows are deleted, and those of holders stay. */
    @Test
    @Breaks("LockHandle.renew(Duration)")
    void theNodeHasMovedOnAndItsPermitsAreComparedWithTheHolds() {
        atEachPoint(6, point -> {
            LockHandle permit = point.held(point.request());
            try (LockHandle keeper = mine.acquire(LockRequest.of("keeper").waitAtMost(SOON))) {
                database.execute("insert into lock_holder"
                        + " (name, fencing_token, owner, permits, acquired_at, node_id)"
                        + " select name, fencing_token - 1, 'orphan', 1, acquired_at, node_id from lock_holder"
                        + " where name = '"
                        + point.name()
                        + "'");
                moveNodeOn(keeper);
                assertThat(point.isDone(() -> {
                            keeper.renew(ofSeconds(1));
                            // A late commit has the orphan's row locked until the end of this call.
                            await().pollDelay(Duration.ZERO)
                                    .atMost(SOON)
                                    .until(() -> faults.fired() || point.rows() == 1);
                        }))
                        .isTrue();
            }
            assertThat(permit.state()).isEqualTo(LockState.HELD);
            point.assertAllHeld();
        });
    }

    // Transactions

    @ParameterizedTest
    @EnumSource
    void aTransactionCommitsUnderAPermit(Held held) {
        atEachPoint(3, point -> {
            LockHandle permit = point.held(held.of(point.request()));
            assertThat(permit.isFenced()).isTrue();
            point.isCommittedAfter(() -> {});
            point.assertAllHeld();
        });
    }

    @ParameterizedTest
    @EnumSource
    @Breaks("LockHandle.guard()")
    void aTransactionIsGuardedBeforeItsEnd(Held held) {
        atEachPoint(4, point -> {
            LockHandle permit = point.held(held.of(point.request()));
            point.isCommittedAfter(permit::guard);
            point.assertAllHeld();
        });
    }
}
