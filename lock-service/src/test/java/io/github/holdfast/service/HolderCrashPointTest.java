package io.github.holdfast.service;

import static java.time.Duration.ofMinutes;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockHandles;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.engine.hold.HandOffThread;
import io.github.holdfast.test.OnEachDatabase;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;
import java.util.function.Consumer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The connection breaks in what a holder does with its handle, and in what does several things at once. */
@Tag("crash-point")
@OnEachDatabase
class HolderCrashPointTest extends CrashPoints {

    @Test
    @Breaks("LockHandle.ensureValidFor(Duration)")
    void aLeaseIsRenewedSoThatItIsValidForLonger() {
        atEachStep(1, crash -> {
            LockHandle lock = crash.keep(mine.acquire(crash.request().lease(ofMinutes(3))));
            ticker.jump(ofMinutes(2));
            assertThat(crash.isDone(() -> lock.ensureValidFor(ofMinutes(2)))).isTrue();
            crash.assertHeld(lock);
            assertThat(theirs.find(crash.name()).orElseThrow().expiresIn()).isGreaterThan(ofMinutes(2));
        });
    }

    @ParameterizedTest
    @EnumSource
    @Breaks("LockHandle.release()")
    void aDetachedHandleIsReleasedByAnotherThread(Kept kept) {
        atEachStep(1, crash -> {
            LockHandle lock =
                    crash.keep(mine.acquire(kept.of(crash.request(), LONG))).detach();
            assertThat(crash.during(
                            () -> CompletableFuture.supplyAsync(lock::release).join()))
                    .hasValueSatisfying(
                            outcome -> assertThat(outcome).isIn(ReleaseOutcome.RELEASED, ReleaseOutcome.UNRESOLVED));
        });
    }

    @ParameterizedTest
    @EnumSource
    @Breaks("LockHandle.close()")
    void aHandleIsClosed(Kept kept) {
        atEachStep(1, crash -> {
            LockHandle lock = crash.keep(mine.acquire(kept.of(crash.request(), LONG)));
            assertThat(crash.isDone(lock::close)).isTrue();
        });
    }

    /** The time that tests have let pass is past: the node lives for a whole lease again. */
    @BeforeEach
    void beat() throws Exception {
        try (LockHandle keeper = mine.acquire(LockRequest.of("keeper").waitAtMost(SOON))) {
            keeper.renew(LONG);
        }
    }

    private void holdsSeveral(Kept kept, Consumer<LockHandles> end) {
        atEachStep(4, crash -> {
            beat();
            List<LockRequest> requests = List.of(known(crash, kept, " 1"), known(crash, kept, " 2"));
            boolean isDone = crash.isDone(() -> {
                LockHandles locks = mine.acquireAll(requests);
                locks.handles().forEach(crash::keep);
                ticker.jump(LONG.dividedBy(3));
                locks.ensureValidFor(LONG.dividedBy(3).multipliedBy(2).plusMinutes(1));
                end.accept(locks);
            });
            assertThat(crash.kept()).hasSize(isDone ? 2 : 0);
        });
    }

    /** For a lock that has a row already, so that fewer steps are needed. */
    private LockRequest known(Crash crash, Kept kept, String suffix) {
        LockRequest request = crash.request(suffix);
        mine.tryAcquire(request).orElseThrow().close();
        return kept.of(request, LONG);
    }

    @Test
    @Breaks({"LockService.acquireAll(Collection)", "LockHandles.ensureValidFor(Duration)", "LockHandles.release()"})
    void severalLocksAreHeldAtOnceAndReleased() {
        holdsSeveral(Kept.BY_NODE, LockHandles::release);
    }

    @Test
    @Breaks({"LockService.acquireAll(Collection)", "LockHandles.ensureValidFor(Duration)", "LockHandles.close()"})
    void severalLeasesAreHeldAtOnceAndClosed() {
        holdsSeveral(Kept.BY_LEASE, LockHandles::close);
    }

    @Test
    @Breaks("Locks.call(LockRequest, LockedTask)")
    void aTaskIsCalledUnderALock() {
        atEachStep(2, crash -> {
            LockRequest request = known(crash, Kept.BY_NODE, "");
            AtomicInteger ran = new AtomicInteger();
            Optional<Integer> result = crash.during(() -> mine.call(request, lock -> {
                crash.had(lock.name(), lock.fencingToken());
                return ran.incrementAndGet();
            }));
            assertThat(ran).hasValue(result.orElse(0));
        });
    }

    @Test
    @Breaks("Locks.run(LockRequest, LockedAction)")
    void anActionRunsUnderALock() {
        atEachStep(2, crash -> {
            LockRequest request = known(crash, Kept.BY_LEASE, "");
            AtomicInteger ran = new AtomicInteger();
            boolean isDone = crash.isDone(() -> mine.run(request, lock -> {
                crash.had(lock.name(), lock.fencingToken());
                ran.incrementAndGet();
            }));
            assertThat(ran).hasValue(isDone ? 1 : 0);
        });
    }

    /** A way to lock a view. */
    enum Locking {
        LOCK {
            @Override
            boolean isDone(Lock lock) {
                lock.lock();
                return true;
            }
        },
        LOCK_INTERRUPTIBLY {
            @Override
            boolean isDone(Lock lock) throws InterruptedException {
                lock.lockInterruptibly();
                return true;
            }
        },
        TRY_LOCK {
            @Override
            boolean isDone(Lock lock) {
                return lock.tryLock();
            }
        },
        TRY_LOCK_FOR_SOME_TIME {
            @Override
            boolean isDone(Lock lock) throws InterruptedException {
                return lock.tryLock(SOON.toSeconds(), TimeUnit.SECONDS);
            }
        };

        abstract boolean isDone(Lock lock) throws InterruptedException;
    }

    @Test
    @Breaks({
        "LockView.lock()",
        "LockView.lockInterruptibly()",
        "LockView.tryLock()",
        "LockView.tryLock(long, TimeUnit)",
        "LockView.unlock()"
    })
    void aViewIsLockedAndUnlocked() {
        for (Locking locking : Locking.values()) {
            atEachStep(2, crash -> {
                Lock lock = mine.asLock(known(crash, Kept.BY_NODE, "").name());
                boolean isDone = crash.isDone(() -> {
                    assertThat(locking.isDone(lock)).isTrue();
                    LockInfo info = theirs.find(crash.name()).orElseThrow();
                    crash.had(crash.name(), info.fencingToken());
                    lock.unlock();
                });
                assertThat(isDone || locking == Locking.TRY_LOCK).isTrue();
            });
        }
    }

    @Test
    @Breaks("LockService.find(String)")
    void itIsAskedWhoHoldsALock() {
        atEachStep(1, crash -> {
            LockHandle lock = crash.keep(mine.acquire(crash.request()));
            crash.during(() -> mine.find(crash.name()).orElseThrow())
                    .ifPresent(info -> assertThat(info.fencingToken()).isEqualTo(lock.fencingToken()));
            crash.assertHeld(lock);
        });
    }

    /** A thread that waits for another one of its process; where that has no answer it goes on by itself. */
    @ParameterizedTest
    @EnumSource
    @Breaks("LockHandle.release()")
    void aLockGoesFromOneThreadToTheNext(Kept kept) {
        atEachStep(1, crash -> {
            LockRequest request = kept.of(crash.request(), LONG).waitAtMost(SOON);
            LockHandle first = crash.keep(mine.acquire(request));
            HandOffThread next = HandOffThread.start(() -> mine.acquire(request));
            List<LockHandle> second = new ArrayList<>();
            assertThat(crash.isDone(() -> {
                        assertThat(first.release()).isIn(ReleaseOutcome.RELEASED, ReleaseOutcome.UNRESOLVED);
                        second.add(next.lock());
                    }))
                    .isTrue();
            assertThat(second.get(0).fencingToken()).isGreaterThan(first.fencingToken());
            crash.assertHeld(crash.keep(second.get(0)));
            next.join(SOON.toMillis());
        });
    }
}
