package io.github.holdfast.service;

import static java.time.Duration.ZERO;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.test.OnEachDatabase;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The connection breaks in what is done with a row lock, of a caller's transaction or with one of its own. */
@Tag("crash-point")
@OnEachDatabase
class RowCrashPointTest extends CrashPoints {

    /** A way to acquire it. */
    enum Acquiring {
        AT_ONCE {
            @Override
            LockHandle from(LockService locks, LockRequest request) {
                return locks.tryAcquire(request).orElseThrow();
            }
        },
        WAITING {
            @Override
            LockHandle from(LockService locks, LockRequest request) {
                return locks.acquireUninterruptibly(request.waitAtMost(SOON));
            }
        };

        abstract LockHandle from(LockService locks, LockRequest request);
    }

    private static LockRequest rowLock(Crash crash) {
        return crash.request().rowLock();
    }

    /** As long as the database says that it is held, nobody else has it; it is lost with its connection, and only then. */
    private void assertHeldOrLost(LockHandle lock) {
        try {
            lock.ensureValidFor(ZERO);
            assertThat(theirs.tryAcquire(LockRequest.of(lock.name()).rowLock())).isEmpty();
            assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
        } catch (LockLostException disconnected) {
            assertThat(disconnected.lossCause()).isEqualTo(LossCause.DISCONNECTED);
            assertThat(lock.state()).isEqualTo(LockState.LOST);
            assertThat(lock.release()).isEqualTo(ReleaseOutcome.LOST);
        }
    }

    @ParameterizedTest
    @EnumSource
    void aRowIsLockedForTheFirstTime(Acquiring acquiring) {
        atEachStep(
                6,
                crash ->
                        crash.during(() -> acquiring.from(mine, rowLock(crash))).ifPresent(this::assertHeldOrLost));
    }

    @Test
    @Breaks({"LockService.tryAcquire(LockRequest)", "LockHandle.ensureValidFor(Duration)"})
    void aRowIsLockedAndLookedAt() {
        atEachStep(4, crash -> {
            theirs.tryAcquire(rowLock(crash)).orElseThrow().close();
            List<LockHandle> locked = new ArrayList<>();
            crash.isDone(() -> {
                locked.add(mine.tryAcquire(rowLock(crash)).orElseThrow());
                try {
                    locked.get(0).ensureValidFor(ZERO);
                } catch (LockLostException disconnected) {
                    assertThat(locked.get(0).state()).isEqualTo(LockState.LOST);
                }
            });
            locked.forEach(this::assertHeldOrLost);
        });
    }

    @Test
    void aRowLockIsReentered() {
        atEachStep(1, crash -> {
            LockHandle outer = mine.tryAcquire(rowLock(crash)).orElseThrow();
            crash.isDone(() -> {
                LockHandle inner = mine.acquire(rowLock(crash));
                assertThat(inner.holdCount()).isEqualTo(2);
                try {
                    inner.ensureValidFor(ZERO);
                    assertThat(inner.release()).isEqualTo(ReleaseOutcome.STILL_HELD);
                } catch (LockLostException disconnected) {
                    assertThat(inner.release()).isEqualTo(ReleaseOutcome.LOST);
                }
            });
            assertHeldOrLost(outer);
        });
    }

    /** On H2 by a commit, which may remain without an answer; elsewhere by a rollback, which no fault hits. */
    @Test
    void aRowIsGivenBack() {
        atEachStep(database.kind().isH2() ? 1 : 0, crash -> {
            LockHandle lock = mine.tryAcquire(rowLock(crash)).orElseThrow();
            crash.isDone(() -> assertThat(lock.release()).isIn(ReleaseOutcome.RELEASED, ReleaseOutcome.LOST));
            theirs.acquire(rowLock(crash).waitAtMost(SOON)).close();
        });
    }

    /** A transaction that is not the one that has the row locked commits only while that has. */
    @Test
    void aTransactionCommitsUnderARowLockOfAnother() {
        atEachStep(3, crash -> {
            LockHandle lock = mine.tryAcquire(rowLock(crash)).orElseThrow();
            if (!crash.isCommittedAfter(() -> {})) {
                assertThat(lock.state()).isIn(LockState.HELD, LockState.LOST);
            }
            assertHeldOrLost(lock);
        });
    }

    @ParameterizedTest
    @EnumSource
    @Breaks("LockHandle.guard()")
    void aCallersTransactionLocksTheRow(Acquiring acquiring) {
        atEachStep(6, crash -> {
            theirs.tryAcquire(rowLock(crash)).orElseThrow().close();
            List<LockHandle> locked = new ArrayList<>();
            crash.isCommittedAfter(() -> {
                LockHandle lock = acquiring.from(mine, rowLock(crash));
                locked.add(lock);
                lock.guard();
                lock.release();
            });
            assertThat(locked).allSatisfy(lock -> assertThat(lock.state()).isIn(LockState.RELEASED, LockState.LOST));
        });
    }

    /** The caller goes on after a refusal, as one does who has asked without waiting; its transaction can only be rolled back. */
    @Test
    void aCallersTransactionThatGoesOnWithoutTheRowDoesNotCommit() {
        atEachStep(5, crash -> {
            List<LockHandle> locked = new ArrayList<>();
            boolean isCommitted = crash.isCommittedAfter(() -> {
                try {
                    locked.add(mine.acquire(rowLock(crash)));
                } catch (LockStoreException failed) {
                    // It should not go on.
                }
            });
            assertThat(isCommitted && locked.isEmpty()).isFalse();
        });
    }
}
