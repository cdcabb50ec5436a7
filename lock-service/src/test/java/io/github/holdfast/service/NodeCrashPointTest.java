package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.test.OnEachDatabase;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The connection breaks in what is done with a lock that lives as long as its node, and while one is taken from a dead holder. */
@Tag("crash-point")
@OnEachDatabase
class NodeCrashPointTest extends CrashPoints {

    enum Owner {
        MADE {
            @Override
            LockRequest of(Crash crash) {
                return crash.request();
            }
        },
        /** What it may have left ends when the rows of the node are compared with the holds. */
        CHOSEN {
            @Override
            LockRequest of(Crash crash) {
                return crash.request().owner("chosen");
            }
        };

        abstract LockRequest of(Crash crash);
    }

    /** Either the caller holds it, and then nobody else does, or it is free; with its node alive. */
    private void acquire(Crash crash, Callable<LockHandle> acquisition) throws Exception {
        crash.during(acquisition).map(crash::keep).ifPresent(crash::assertHeld);
    }

    private void endOf(Owner owner, Crash crash) throws Exception {
        crash.release();
        if (owner == Owner.CHOSEN) {
            reconcile();
        }
    }

    @ParameterizedTest
    @EnumSource
    @Breaks("LockService.tryAcquire(LockRequest)")
    void aNameIsLockedForTheFirstTime(Owner owner) {
        atEachStep(3, crash -> {
            acquire(crash, () -> mine.tryAcquire(owner.of(crash)).orElseThrow());
            endOf(owner, crash);
        });
    }

    @Test
    @Breaks("LockService.acquire(LockRequest)")
    void theServiceLocksForTheFirstTime() {
        atEachStep(5, crash -> {
            endNode();
            acquire(crash, () -> mine.acquire(crash.request()));
        });
    }

    private void endNode() throws Exception {
        LockHandle lost = mine.acquire(LockRequest.of("keeper").waitAtMost(SOON));
        database.execute("delete from lock_node where id = '" + nodeOf(lost) + "'");
        assertThatExceptionOfType(LockLostException.class).isThrownBy(() -> lost.renew(ofSeconds(1)));
        assertThat(lost.release()).isEqualTo(ReleaseOutcome.LOST);
    }

    @ParameterizedTest
    @EnumSource
    @Breaks("LockService.tryAcquire(LockRequest)")
    void aLockIsAcquiredAgain(Owner owner) {
        atEachStep(1, crash -> {
            mine.tryAcquire(owner.of(crash)).orElseThrow().close();
            acquire(crash, () -> mine.tryAcquire(owner.of(crash)).orElseThrow());
            endOf(owner, crash);
        });
    }

    @ParameterizedTest
    @EnumSource
    @Breaks("LockService.acquire(LockRequest)")
    void aLockIsAcquiredThatAnotherServiceHadLast(Owner owner) {
        atEachStep(2, crash -> {
            theirs.tryAcquire(crash.request()).orElseThrow().close();
            acquire(crash, () -> mine.acquire(owner.of(crash)));
            endOf(owner, crash);
        });
    }

    @ParameterizedTest
    @EnumSource
    @Breaks("LockService.acquire(LockRequest)")
    void aLockIsReentered(Owner owner) {
        atEachStep(1, crash -> {
            LockHandle outer = crash.keep(mine.acquire(owner.of(crash)));
            acquire(crash, () -> {
                LockHandle inner = mine.acquire(owner.of(crash));
                assertThat(inner.fencingToken()).isEqualTo(outer.fencingToken());
                return inner;
            });
            crash.assertHeld(outer);
            endOf(owner, crash);
        });
    }

    @ParameterizedTest
    @EnumSource
    @Breaks("LockHandle.release()")
    void aNestedLockIsReleased(Owner owner) {
        atEachStep(1, crash -> {
            LockHandle outer = crash.keep(mine.acquire(owner.of(crash)));
            LockHandle inner = crash.keep(mine.acquire(owner.of(crash)));
            assertThat(crash.during(inner::release))
                    .hasValueSatisfying(
                            outcome -> assertThat(outcome).isIn(ReleaseOutcome.STILL_HELD, ReleaseOutcome.UNRESOLVED));
            crash.assertHeld(outer);
            endOf(owner, crash);
        });
    }

    @ParameterizedTest
    @EnumSource
    @Breaks("LockHandle.release()")
    void aLockIsReleased(Owner owner) {
        atEachStep(1, crash -> {
            LockHandle lock = crash.keep(mine.acquire(owner.of(crash)));
            assertThat(crash.during(lock::release))
                    .hasValueSatisfying(
                            outcome -> assertThat(outcome).isIn(ReleaseOutcome.RELEASED, ReleaseOutcome.UNRESOLVED));
            endOf(owner, crash);
        });
    }

    @ParameterizedTest
    @EnumSource
    @Breaks("LockHandle.renew(Duration)")
    void theNodeBeats(Owner owner) {
        atEachStep(2, crash -> {
            LockHandle lock = crash.keep(mine.acquire(owner.of(crash)));
            assertThat(crash.isDone(() -> lock.renew(LONG))).isTrue();
            crash.assertHeld(lock);
        });
    }

    @ParameterizedTest
    @EnumSource
    @Breaks("LockHandle.ensureValidFor(Duration)")
    void theNodeBeatsSoThatTheLockIsValidForLonger(Owner owner) {
        atEachStep(2, crash -> {
            LockHandle lock = crash.keep(mine.acquire(owner.of(crash)));
            ticker.jump(LONG.dividedBy(3));
            assertThat(crash.isDone(() -> lock.ensureValidFor(
                            LONG.dividedBy(3).multipliedBy(2).plusMinutes(1))))
                    .isTrue();
            crash.assertHeld(lock);
        });
    }

    /** Rows that nobody knows are freed, and those that are held stay so. */
    @Test
    @Breaks("LockHandle.renew(Duration)")
    void theNodeHasMovedOnAndItsRowsAreComparedWithTheHolds() {
        atEachStep(8, crash -> {
            LockHandle lock = crash.keep(mine.acquire(crash.request()));
            LockRequest orphan = crash.request(" orphan");
            rows.heldThrough(nodeOf(lock), orphan.name());
            crash.had(orphan.name(), rows.row(orphan.name()).token());
            moveNodeOn(lock);
            assertThat(crash.isDone(() -> {
                        lock.renew(ofSeconds(1));
                        theirs.acquire(orphan.waitAtMost(SOON)).close();
                    }))
                    .isTrue();
            crash.assertHeld(lock);
        });
    }

    /** Who had the lock and is dead. */
    enum Former {
        NODE_THAT_IS_OVERDUE {
            @Override
            void hold(String name, TestRows rows) {
                rows.node("dead " + name, false, ofMinutes(1));
                rows.heldThrough("dead " + name, name);
            }
        },
        NODE_THAT_HAS_ENDED {
            @Override
            void hold(String name, TestRows rows) {
                rows.node("dead " + name, true, ofMinutes(1));
                rows.heldThrough("dead " + name, name);
            }
        },
        LEASE_THAT_IS_OVER {
            @Override
            void hold(String name, TestRows rows) {
                rows.leased(ofMinutes(1), name);
            }
        };

        abstract void hold(String name, TestRows rows);
    }

    private void hold(Former former, Crash crash) {
        former.hold(crash.name(), rows);
        crash.had(crash.name(), rows.row(crash.name()).token());
    }

    @ParameterizedTest
    @EnumSource
    @Breaks("LockService.tryAcquire(LockRequest)")
    void aLockIsTakenFromADeadHolder(Former former) {
        atEachStep(2, crash -> {
            hold(former, crash);
            acquire(crash, () -> mine.tryAcquire(crash.request()).orElseThrow());
        });
    }

    @Test
    void aLockIsTakenFromADeadHolderAfterADelay() {
        LockService delaying = services.build(unit, builder -> polling(builder).lockDelay(ofMillis(1)));
        atEachStep(6, crash -> {
            hold(Former.NODE_THAT_IS_OVERDUE, crash);
            acquire(crash, () -> delaying.acquire(crash.request().waitAtMost(SOON)));
        });
        delaying.close();
    }

    @ParameterizedTest
    @EnumSource
    void aRowLockIsTakenFromADeadHolder(Former former) {
        atEachStep(4, crash -> {
            hold(former, crash);
            crash.during(() -> mine.acquire(crash.request().rowLock()))
                    // If it was the last answer on its connection, it is lost.
                    .ifPresent(lock -> assertThat(lock.release()).isIn(ReleaseOutcome.RELEASED, ReleaseOutcome.LOST));
        });
    }
}
