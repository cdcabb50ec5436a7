package io.github.holdfast.sharding;

import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockMode;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.ReleaseOutcome;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Names that move, when one of the two locks is lost, late or refused. All are acquired on {@code a} first. */
@SuppressWarnings("LockNotBeforeTry") // what a test has locked ends with the test
abstract class MovingTroubleContract extends TwoShards {

    private static final Sharding OLD = Sharding.byPrefix(Map.of("x:", "a", "y:", "b"));
    private static final Sharding NEXT = Sharding.byPrefix(Map.of("x:", "b", "y:", "a"));

    private ShardedLocks locks;
    private int names;

    @BeforeAll
    void route() {
        locks = ShardedLocks.of(mine(), OLD).movingTo(NEXT, Instant.MAX);
    }

    @AfterEach
    void nothingIsLeft() {
        await().atMost(SOON).untilAsserted(() -> assertThat(locks.held("", 100)).isEmpty());
    }

    /** A new name for each direction. */
    private List<String> bothDirections() {
        names++;
        return List.of("x:" + names, "y:" + names);
    }

    private static LockRequest lock(String name) {
        return LockRequest.of(name);
    }

    /** Others have the first lock as soon as its lease is over, while the second is waited for. */
    @Test
    void aLeaseThatEndsDuringTheWaitIsAcquiredAgain() throws Exception {
        for (String name : bothDirections()) {
            LockHandle onB = othersB.locks().acquire(lock(name));
            Future<LockHandle> waiting =
                    start(() -> locks.acquire(lock(name).lease(ofSeconds(2)).waitAtMost(SOON)));
            await().atMost(SOON).until(() -> b.locks().admin().waiters().size() == 1);
            LockHandle onA = othersA.locks().acquire(lock(name).waitAtMost(SOON));
            onB.close();
            await().atMost(SOON).until(() -> a.locks().admin().waiters().size() == 1);
            await().atMost(SOON)
                    .untilAsserted(() -> assertThat(b.locks().find(name)).isEmpty());
            assertThat(waiting).isNotDone();
            onA.close();
            assertThat(waiting.get(60, SECONDS).fencingToken())
                    .isGreaterThan((name.startsWith("x:") ? onA : onB).fencingToken());
            ReleaseOutcome unused = waiting.get().release();
        }
    }

    @Test
    void aLeaseThatEndsDuringTheWaitIsNotAcquiredAfterTheWaitTime() throws Exception {
        for (String name : bothDirections()) {
            LockHandle onB = othersB.locks().acquire(lock(name));
            Future<LockHandle> waiting =
                    start(() -> locks.acquire(lock(name).lease(ofSeconds(1)).waitAtMost(ofSeconds(6))));
            await().atMost(SOON).until(() -> b.locks().admin().waiters().size() == 1);
            try (LockHandle onA = othersA.locks().acquire(lock(name).waitAtMost(SOON))) {
                onB.close();
                assertThatExceptionOfType(ExecutionException.class)
                        .isThrownBy(() -> waiting.get(60, SECONDS))
                        .withCauseInstanceOf(LockNotAcquiredException.class);
                assertThat(b.locks().find(name)).isEmpty();
                assertThat(onA.state()).isEqualTo(LockState.HELD);
            }
        }
    }

    /** The thread may be waiting for the second lock then. */
    @Test
    void aLeaseThatEndsDuringTheWaitInterruptsACallerThatWantsIt() throws Exception {
        for (String name : bothDirections()) {
            LockHandle onB = othersB.locks().acquire(lock(name));
            Future<LockHandle> waiting = start(() -> locks.acquire(
                    lock(name).lease(ofSeconds(2)).interruptOnLoss().waitAtMost(SOON)));
            assertThatExceptionOfType(ExecutionException.class)
                    .isThrownBy(() -> waiting.get(60, SECONDS))
                    .withCauseInstanceOf(InterruptedException.class);
            onB.close();
        }
    }

    @Test
    void aRefusedSecondShardLeavesTheFirstUntilTheTransactionEnds() throws Exception {
        for (Nodes.Shard transactional : List.of(a, b)) {
            for (String name : bothDirections()) {
                try (LockHandle onB = othersB.locks().acquire(lock(name))) {
                    transactional.transaction().executeWithoutResult(status -> {
                        assertThat(locks.tryAcquire(lock(name))).isEmpty();
                        assertThat(locks.asLock(name).tryLock()).isFalse();
                        assertThat(othersA.locks().tryAcquire(lock(name)))
                                .as("the first shard during the transaction")
                                .isEmpty();
                    });
                    othersA.locks().acquire(lock(name).waitAtMost(SOON)).close();
                    assertThat(onB.state()).isEqualTo(LockState.HELD);
                }
            }
        }
    }

    /** The service of the other database does not know the transaction. */
    @Test
    void aReleaseByAnotherThreadIsDeferredOnOneShardOnly() throws Exception {
        for (String name : bothDirections()) {
            LockHandle handle = locks.acquire(lock(name));
            a.transaction().executeWithoutResult(status -> {
                assertThat(outcome(start(handle::release))).isEqualTo(ReleaseOutcome.DEFERRED);
                assertThat(a.locks().find(name)).isPresent();
                assertThat(b.locks().find(name)).isEmpty();
            });
        }
    }

    /** On the thread of the transaction, both services learn of it. */
    @Test
    void aReleaseInATransactionIsDeferredOnBothShards() throws Exception {
        for (String name : bothDirections()) {
            LockHandle handle = locks.acquire(lock(name));
            a.transaction().executeWithoutResult(status -> {
                assertThat(handle.release()).isEqualTo(ReleaseOutcome.DEFERRED);
                assertThat(a.locks().find(name)).isPresent();
                assertThat(b.locks().find(name)).isPresent();
            });
        }
    }

    private static <T> T outcome(Future<T> future) {
        try {
            return future.get(60, SECONDS);
        } catch (Exception failed) {
            throw new AssertionError(failed);
        }
    }

    @Test
    void rowLocksOfATransactionAreRefused() {
        for (Nodes.Shard transactional : List.of(a, b)) {
            for (String name : bothDirections()) {
                transactional.transaction().executeWithoutResult(status -> {
                    assertThatIllegalStateException()
                            .isThrownBy(() -> locks.tryAcquire(lock(name).rowLock()))
                            .withMessageContaining("moves from shard")
                            .withMessageContaining("before the transaction begins");
                    assertThatIllegalStateException()
                            .isThrownBy(() -> locks.acquire(lock(name).rowLock()))
                            .withMessageContaining("before the transaction begins");
                });
            }
        }
    }

    /** A renewal would write the row that the transaction checks before its commit. */
    @Test
    void aNestedAcquisitionInATransactionRenewsNothing() throws Exception {
        for (String name : bothDirections()) {
            try (LockHandle outer = locks.acquire(lock(name).lease(ofSeconds(30)))) {
                Duration before = a.locks().find(name).orElseThrow().expiresIn();
                a.transaction().executeWithoutResult(status -> {
                    LockHandle inner =
                            locks.tryAcquire(lock(name).lease(ofSeconds(90))).orElseThrow();
                    assertThat(inner.holdCount()).isEqualTo(2);
                    assertThat(a.locks().find(name).orElseThrow().expiresIn()).isLessThanOrEqualTo(before);
                    inner.close();
                });
                assertThat(outer.state()).isEqualTo(LockState.HELD);
            }
        }
    }

    @Test
    void aDowngradeThatFailsOnTheSecondShardReleasesBoth() throws Exception {
        for (String name : bothDirections()) {
            boolean isNextB = name.startsWith("x:");
            LockHandle handle = locks.acquire(lock(name));
            assertThat((isNextB ? othersB : othersA).locks().admin().forceRelease(name, "test"))
                    .isPresent();
            assertThatExceptionOfType(LockLostException.class).isThrownBy(handle::downgrade);
            assertThat(handle.state()).isNotEqualTo(LockState.HELD);
            (isNextB ? othersA : othersB)
                    .locks()
                    .tryAcquire(lock(name))
                    .orElseThrow()
                    .close();
        }
    }

    @Test
    void aDowngradeThatIsRefusedDoesNothing() throws Exception {
        for (String name : bothDirections()) {
            for (Nodes.Shard shard : List.of(a, b)) {
                LockHandle handle = locks.acquire(lock(name));
                LockHandle nested = shard.locks().acquire(lock(name));
                assertThatIllegalStateException().isThrownBy(handle::downgrade);
                assertThat(handle.state()).isEqualTo(LockState.HELD);
                for (Nodes.Shard each : List.of(a, b)) {
                    assertThat(each.locks().find(name))
                            .hasValueSatisfying(held -> assertThat(held.mode()).isEqualTo(LockMode.EXCLUSIVE));
                }
                nested.close();
                handle.downgrade().close();
            }
        }
    }

    @Test
    void aViewThatIsLockedOnOneShardOnlyIsNotUnlocked() throws Exception {
        for (String name : bothDirections()) {
            Lock onA = a.locks().asLock(name);
            onA.lock();
            assertThatExceptionOfType(IllegalMonitorStateException.class)
                    .isThrownBy(() -> locks.asLock(name).unlock());
            assertThat(a.locks().find(name)).isPresent();
            onA.unlock();
        }
    }

    @Test
    void aSlowRenewalOfTheSecondIsFollowedByAnotherOfTheFirst() throws Exception {
        // So long that the renewal adds some seconds for itself.
        Duration wanted = ofSeconds(2500);
        String name = bothDirections().get(0);
        LockHandle onA = a.locks().acquire(lock(name).lease(ofSeconds(20)));
        LockHandle onB = b.locks().acquire(lock(name).lease(wanted.multipliedBy(2)));
        AtomicInteger calls = new AtomicInteger();
        LockHandle slow = with(onB, "ensureValidFor", () -> {
            if (calls.incrementAndGet() == 1) {
                await().atMost(SOON).until(() -> onA.remaining().compareTo(wanted) < 0);
            }
        });
        try (DualHandle both = paired(name, onA, slow)) {
            both.ensureValidFor(wanted);
            assertThat(calls).hasValue(2);
        }
    }

    @Test
    void aRenewalThatIsTooSlowIsALoss() throws Exception {
        Duration wanted = ofSeconds(3);
        String name = bothDirections().get(0);
        LockHandle onA = a.locks().acquire(lock(name).lease(ofSeconds(2)));
        LockHandle onB = b.locks().acquire(lock(name).lease(ofMinutes(10)));
        LockHandle slow = with(
                onB,
                "ensureValidFor",
                () -> await().atMost(SOON).until(() -> onA.remaining().compareTo(wanted) < 0));
        DualHandle both = paired(name, onA, slow);
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> both.ensureValidFor(wanted))
                .withMessageContaining("valid only for");
        ReleaseOutcome unused = both.release();
    }

    @Test
    void aReleaseThatThrowsDoesNotLeaveTheOtherLock() throws Exception {
        Runnable failing = () -> {
            throw new IllegalStateException("driver");
        };
        for (String method : List.of("release", "close")) {
            for (String name : bothDirections()) {
                LockHandle onA = a.locks().acquire(lock(name));
                LockHandle onB = b.locks().acquire(lock(name));
                LockHandle next = with(name.startsWith("x:") ? onB : onA, method, failing);
                LockHandle present = name.startsWith("x:") ? onA : onB;
                DualHandle both = paired(name, present, next);
                assertThatIllegalStateException()
                        .isThrownBy(method.equals("close") ? both::close : both::release)
                        .withMessage("driver");
                assertThat(present.state()).isEqualTo(LockState.RELEASED);
                assertThat(next.state()).isEqualTo(LockState.HELD);
                (name.startsWith("x:") ? onB : onA).close();
            }
        }
        String name = bothDirections().get(0);
        LockHandle first = a.locks().acquire(lock(name));
        LockHandle second = b.locks().acquire(lock(name));
        IllegalArgumentException failure = new IllegalArgumentException();
        Handles.releaseAfter(failure, List.of(first, with(second, "release", failing)));
        assertThat(failure.getSuppressed()).hasSize(1);
        assertThat(first.state()).isEqualTo(LockState.RELEASED);
        second.close();
    }

    private DualHandle paired(String name, LockHandle present, LockHandle next) {
        MigratingName moving = new MigratingName(
                name, new MigratingName.Shard("a", a.locks()), new MigratingName.Shard("b", b.locks()), Instant.MAX);
        return new DualHandle(moving, present, next, present);
    }

    /** The handle, but this method does something else before. */
    private static LockHandle with(LockHandle handle, String method, Runnable before) {
        return (LockHandle) Proxy.newProxyInstance(
                LockHandle.class.getClassLoader(), new Class<?>[] {LockHandle.class}, (proxy, called, arguments) -> {
                    if (called.getName().equals(method)) {
                        before.run();
                    }
                    try {
                        return called.invoke(handle, arguments);
                    } catch (InvocationTargetException thrown) {
                        throw thrown.getTargetException();
                    }
                });
    }
}
