package io.github.holdfast.service;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.HoldfastException;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockMode;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.LateCommits.Fate;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.jdbc.FaultyDataSource.Fault;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The connection breaks in what is done with a shared lock. Afterwards, an acquisition that succeeded has one row, one that failed soon
 * has none, and nobody has the lock alone while somebody shares it.
 */
@Tag("crash-point")
@OnEachDatabase
class SharedLockCrashPointTest extends CrashPoints {

    @Override
    LockServiceBuilder settings(LockServiceBuilder builder) {
        return super.settings(builder).clockTolerance(ZERO);
    }

    /** How a share is held. */
    enum Held {
        BY_LEASE {
            @Override
            LockRequest of(LockRequest request) {
                return request.shared().lease(LONG);
            }
        },
        BY_NODE {
            @Override
            LockRequest of(LockRequest request) {
                return request.shared();
            }
        };

        abstract LockRequest of(LockRequest request);
    }

    /** Either the caller holds it, and nobody has it alone, or soon nobody holds it. */
    private void acquire(Crash crash, Callable<LockHandle> acquisition) throws Exception {
        Optional<LockHandle> acquired = crash.during(acquisition);
        acquired.map(crash::keep).ifPresent(crash::assertHeld);
        if (acquired.isEmpty() || acquired.get().mode() == LockMode.SHARED) {
            awaitHolders(crash, acquired.isPresent() ? 1 : 0);
        }
    }

    private void awaitHolders(Crash crash, int count) {
        await().pollDelay(ZERO).pollInterval(ofMillis(10)).atMost(SOON).until(() -> holders(crash) == count);
    }

    private long holders(Crash crash) {
        return database.queryForLong("select count(*) from lock_holder where name = '" + crash.name() + "'");
    }

    /** The row is there, and was shared last. */
    private void shareFirst(Crash crash) {
        LockHandle share = theirs.tryAcquire(crash.request().shared()).orElseThrow();
        crash.had(crash.name(), share.fencingToken());
        share.close();
    }

    @ParameterizedTest
    @EnumSource
    @Breaks("LockService.tryAcquire(LockRequest)")
    void aNameIsSharedForTheFirstTime(Held held) {
        atEachStepAndLateCommit(
                6,
                crash -> acquire(
                        crash, () -> mine.tryAcquire(held.of(crash.request())).orElseThrow()));
    }

    @ParameterizedTest
    @EnumSource
    @Breaks("LockService.acquire(LockRequest)")
    void aLockIsSharedAgain(Held held) {
        atEachStepAndLateCommit(5, crash -> {
            shareFirst(crash);
            acquire(crash, () -> mine.acquire(held.of(crash.request())));
        });
    }

    @Test
    @Breaks("LockService.acquire(LockRequest)")
    void aLockIsTakenThatWasShared() {
        atEachStepAndLateCommit(3, crash -> {
            shareFirst(crash);
            acquire(crash, () -> mine.acquire(crash.request()));
        });
    }

    @Test
    @Breaks("LockService.acquire(LockRequest)")
    void aRowIsLockedThatWasShared() {
        atEachStep(4, crash -> {
            shareFirst(crash);
            Optional<LockHandle> locked =
                    crash.during(() -> mine.acquire(crash.request().rowLock()));
            locked.ifPresent(row -> assertHeldOrLost(row, crash));
        });
    }

    /** It is lost with its connection, and only then. */
    private void assertHeldOrLost(LockHandle row, Crash crash) {
        try {
            row.ensureValidFor(ZERO);
            assertThat(theirs.tryAcquire(crash.request().shared())).isEmpty();
            assertThat(row.release()).isEqualTo(ReleaseOutcome.RELEASED);
        } catch (LockLostException disconnected) {
            assertThat(row.release()).isEqualTo(ReleaseOutcome.LOST);
        }
    }

    @ParameterizedTest
    @EnumSource
    @Breaks("LockService.acquire(LockRequest)")
    void aLockIsTakenFromADeadShare(IsEnded node) {
        atEachStep(5, crash -> {
            shareFirst(crash);
            String dead = "dead " + crash.name();
            rows.node(dead, node == IsEnded.YES, ofMinutes(1));
            database.execute("insert into lock_holder (name, fencing_token, owner, permits, acquired_at, node_id)"
                    + " select name, fencing_token, 'former', 1, acquired_at, '" + dead + "' from distributed_lock"
                    + " where name = '" + crash.name() + "'");
            acquire(crash, () -> mine.acquire(crash.request()));
            database.execute("delete from lock_holder where owner = 'former'");
        });
    }

    /** Whether the node of a dead holder was ended. */
    enum IsEnded {
        YES,
        NO
    }

    /** In the end, others share it again. How many steps there are depends on how fast the machine is. */
    @Test
    @Breaks("LockService.acquire(LockRequest)")
    void somebodyWaitsInVainForTheLastShare() {
        atEachStep(1, crash -> {
            LockHandle share = theirs.tryAcquire(crash.request().shared()).orElseThrow();
            crash.keep(share);
            crash.isDone(() -> assertThatExceptionOfType(HoldfastException.class)
                    .isThrownBy(() -> mine.acquire(crash.request().waitAtMost(ofMillis(200))))
                    .isInstanceOfAny(LockNotAcquiredException.class, LockStoreException.class));
            assertThat(share.state()).isEqualTo(LockState.HELD);
            theirs.acquire(crash.request().shared().notReentrant().waitAtMost(SOON))
                    .close();
        });
    }

    @Test
    @Breaks("LockHandle.renew(Duration)")
    void aLeaseIsRenewed() {
        atEachStep(2, crash -> {
            LockHandle share =
                    crash.keep(mine.tryAcquire(crash.request().shared().lease(ofMinutes(3)))
                            .orElseThrow());
            boolean isRenewed = crash.isDone(() -> share.renew(LONG));
            assertThat(share.remaining()).isGreaterThan(isRenewed ? LONG.minusMinutes(1) : ofMinutes(2));
        });
    }

    /** How a lock is held before it is downgraded. */
    private static LockRequest alone(Held held, Crash crash) {
        return held == Held.BY_LEASE ? crash.request().lease(LONG) : crash.request();
    }

    /** Afterwards, either the caller has the share, or nobody has anything. */
    @ParameterizedTest
    @EnumSource
    @Breaks("LockHandle.downgrade()")
    void aLockIsDowngraded(Held held) {
        atEachStepAndLateCommit(3, crash -> downgrade(held, crash));
    }

    /** Until its commit arrives, the transaction has the row locked, and the call gives up. Each such point takes seconds. */
    @ParameterizedTest
    @EnumSource
    void aLockIsDowngradedButTheCommitArrivesAfterTheCall(Held held) {
        atEachStep(Fault.DELAYED, Fate.LANDS_AFTER_THE_CALL, 3, crash -> downgrade(held, crash));
    }

    private void downgrade(Held held, Crash crash) throws Exception {
        LockHandle alone = mine.tryAcquire(alone(held, crash)).orElseThrow();
        crash.had(crash.name(), alone.fencingToken());
        acquire(crash, alone::downgrade);
        assertThat(alone.state()).isEqualTo(LockState.RELEASED);
    }

    // Operators

    @Test
    @Breaks({"LockAdmin.held(String, int)", "LockAdmin.holders(String)"})
    void whoSharesIsRead() {
        LockHandle share = theirs.tryAcquire(LockRequest.of("shared").shared()).orElseThrow();
        for (Crash.Use<LockAdmin> read : List.<Crash.Use<LockAdmin>>of(
                admin -> assertThat(admin.held("", 10)).hasSize(1),
                admin -> assertThat(admin.holders("shared")).hasSize(1))) {
            atEachStep(3, crash -> crash.isDone(() -> read.of(mine.admin())));
        }
        share.close();
    }

    /** Each of them is taken away or not, and written down if it is, once. Those that lost it count on, until here the test ends that. */
    @ParameterizedTest
    @EnumSource
    @Breaks("LockAdmin.forceRelease(String, String)")
    void allSharesAreReleasedByForce(Held held) {
        atEachStep(10, crash -> {
            LockRequest request = crash.request().notReentrant();
            // A second one without a lease would join the first one.
            List<LockHandle> shares = List.of(
                    theirs.tryAcquire(held.of(request)).orElseThrow(),
                    theirs.tryAcquire(Held.BY_LEASE.of(request)).orElseThrow());
            Optional<LockInfo> told = crash.during(
                    () -> mine.admin().forceRelease(crash.name(), "to test").orElseThrow());
            told.ifPresent(former ->
                    assertThat(former.fencingToken()).isEqualTo(shares.get(0).fencingToken()));
            List<Long> left = theirs.admin().holders(crash.name()).stream()
                    .map(LockInfo::fencingToken)
                    .toList();
            if (told.isPresent()) {
                assertThat(left).isEmpty();
            }
            assertThat(holders(crash)).isEqualTo(2);
            assertThat(mine.tryAcquire(crash.request())).isEmpty();
            for (LockHandle share : shares) {
                crash.had(crash.name(), share.fencingToken());
                boolean isForced = !left.contains(share.fencingToken());
                assertThat(database.queryForLong("select count(*) from lock_audit where lock_name = '" + crash.name()
                                + "' and fencing_token = " + share.fencingToken()))
                        .isEqualTo(isForced ? 1 : 0);
                assertThat(share.release()).isEqualTo(isForced ? ReleaseOutcome.LOST : ReleaseOutcome.RELEASED);
            }
            database.execute("delete from lock_holder where name = '" + crash.name() + "'");
        });
    }

    @ParameterizedTest
    @EnumSource
    @Breaks("LockHandle.release()")
    void aShareIsReleased(Held held) {
        atEachStepAndLateCommit(2, crash -> {
            LockHandle share = mine.tryAcquire(held.of(crash.request())).orElseThrow();
            crash.had(crash.name(), share.fencingToken());
            assertThat(crash.during(share::release))
                    .hasValueSatisfying(
                            outcome -> assertThat(outcome).isIn(ReleaseOutcome.RELEASED, ReleaseOutcome.UNRESOLVED));
            awaitHolders(crash, 0);
        });
    }
}
