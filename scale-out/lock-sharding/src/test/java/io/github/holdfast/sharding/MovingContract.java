package io.github.holdfast.sharding;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockHandles;
import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockMode;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockUpgradeException;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.LockService;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Names that move between two databases: those with {@code x:} from the first to the second, those with {@code y:} back. */
@SuppressWarnings("LockNotBeforeTry") // what a test has locked ends with the test
abstract class MovingContract extends TwoShards {

    private static final Sharding OLD = Sharding.byPrefix(Map.of("x:", "a", "y:", "b", "", "a"));
    private static final Sharding NEXT = Sharding.byPrefix(Map.of("x:", "b", "y:", "a", "", "a"));

    private ShardedLocks locks;
    private ShardedLocks othersOld;
    private ShardedLocks othersMoving;
    private ShardedLocks othersNext;
    private int names;

    @BeforeAll
    void route() {
        locks = ShardedLocks.of(mine(), OLD).movingTo(NEXT, Instant.MAX);
        othersOld = ShardedLocks.of(others(), OLD);
        othersMoving = othersOld.movingTo(NEXT, Instant.MAX);
        othersNext = ShardedLocks.of(others(), NEXT);
    }

    @AfterEach
    void nothingIsLeft() {
        assertThat(locks.held("", 100)).isEmpty();
    }

    /** A new name for each direction. */
    private List<String> bothDirections() {
        names++;
        return List.of("x:" + names, "y:" + names);
    }

    private static LockRequest lock(String name) {
        return LockRequest.of(name);
    }

    @Test
    void theHolderExcludesAllOthers() throws Exception {
        for (String name : bothDirections()) {
            try (LockHandle handle = locks.acquire(lock(name))) {
                assertThat(handle.name()).isEqualTo(name);
                assertThat(handle.state()).isEqualTo(LockState.HELD);
                assertThat(handle.remaining()).isPositive();
                assertThat(handle.mode()).isEqualTo(LockMode.EXCLUSIVE);
                assertThat(a.locks().find(name)).isPresent();
                assertThat(b.locks().find(name)).isPresent();
                for (ShardedLocks other : List.of(othersOld, othersMoving, othersNext)) {
                    assertThat(other.tryAcquire(lock(name))).isEmpty();
                    assertThat(other.find(name)).isPresent();
                }
            }
            for (ShardedLocks other : List.of(othersOld, othersMoving, othersNext)) {
                other.tryAcquire(lock(name)).orElseThrow().close();
            }
        }
    }

    @Test
    void aHolderOnEitherShardExcludesThoseWhoNeedBoth() throws Exception {
        for (String name : bothDirections()) {
            for (ShardedLocks other : List.of(othersOld, othersNext)) {
                try (LockHandle held = other.acquire(lock(name))) {
                    assertThat(locks.tryAcquire(lock(name))).isEmpty();
                    assertThatExceptionOfType(LockNotAcquiredException.class)
                            .isThrownBy(() -> locks.acquire(lock(name).waitAtMost(ofMillis(50))));
                    assertThat(locks.find(name))
                            .hasValueSatisfying(
                                    found -> assertThat(found.owner()).isEqualTo(held.owner()));
                    assertThat(locks.held("", 10)).hasSize(1);
                }
            }
            locks.acquire(lock(name)).close();
        }
    }

    @Test
    void aWaiterGetsBothWhenTheLastIsReleased() throws Exception {
        for (String name : bothDirections()) {
            LockHandle onA = othersA.locks().acquire(lock(name));
            LockHandle onB = othersB.locks().acquire(lock(name));
            Future<LockHandle> waiting = start(() -> locks.acquire(lock(name).waitAtMost(SOON)));
            await().atMost(SOON).until(() -> a.locks().admin().waiters().size() == 1);
            onA.close();
            await().atMost(SOON).until(() -> b.locks().admin().waiters().size() == 1);
            assertThat(waiting).isNotDone();
            assertThat(a.locks().find(name)).as("the waiter has the first").isPresent();
            onB.close();
            assertThat(waiting.get(60, SECONDS).release()).isEqualTo(ReleaseOutcome.RELEASED);
        }
    }

    /** The lease of the first lock runs while the second is waited for. */
    @Test
    void theLeaseIsNotUsedUpByTheWait() throws Exception {
        String name = bothDirections().get(0);
        Duration lease = ofSeconds(12);
        Duration little = ofSeconds(4);
        LockHandle held = othersNext.acquire(lock(name));
        Future<LockHandle> waiting =
                start(() -> locks.acquire(lock(name).lease(lease).waitAtMost(SOON)));
        await().atMost(SOON).until(() -> b.locks().admin().waiters().size() == 1);
        await().atMost(SOON)
                .until(() -> a.locks().find(name).orElseThrow().expiresIn().compareTo(little) < 0);
        held.close();
        assertThat(waiting.get(60, SECONDS).remaining()).isBetween(little, lease);
        ReleaseOutcome unused = waiting.get().release();
    }

    @Test
    void aRenewalIsForBoth() throws Exception {
        for (String name : bothDirections()) {
            try (LockHandle handle = locks.acquire(lock(name).lease(ofSeconds(20)))) {
                handle.renew(ofSeconds(60));
                handle.ensureValidFor(ofSeconds(50));
                for (LockService service : mine().values()) {
                    assertThat(service.find(name))
                            .hasValueSatisfying(
                                    info -> assertThat(info.expiresIn()).isGreaterThan(ofSeconds(30)));
                }
                assertThat(handle.remaining()).isGreaterThan(ofSeconds(30));
            }
        }
    }

    @Test
    void aLossOnEitherShardIsALoss() throws Exception {
        // A lock that was released by force stays unavailable until its lease is over, so each case has a name of its
        // own.
        for (LockService shard : others().values()) {
            for (String name : bothDirections()) {
                Queue<LockLost> losses = new ConcurrentLinkedQueue<>();
                LockHandle handle =
                        locks.acquire(lock(name).lease(ofSeconds(60))).onLost(losses::add);
                assertThat(shard.admin().forceRelease(name, "test")).isPresent();
                assertThatExceptionOfType(LockLostException.class).isThrownBy(() -> handle.renew(ofSeconds(70)));
                assertThat(handle.state()).isEqualTo(LockState.LOST);
                assertThat(handle.remaining()).isZero();
                await().atMost(SOON).until(() -> losses.size() == 1);
                assertThat(losses).allSatisfy(lost -> {
                    assertThat(lost.lockName()).isEqualTo(name);
                    assertThat(lost.owner()).isEqualTo(handle.owner());
                    assertThat(lost.fencingToken()).isEqualTo(handle.fencingToken());
                });
                assertThatExceptionOfType(LockLostException.class).isThrownBy(handle::close);
                assertThat(handle.release()).isEqualTo(ReleaseOutcome.LOST);
                assertThat(losses).hasSize(1);
                assertThat(locks.find(name)).isEmpty();
            }
        }
    }

    @Test
    void nestedHandlesAreReleasedOneByOne() throws Exception {
        for (String name : bothDirections()) {
            LockHandle outer = locks.acquire(lock(name));
            LockHandle inner = locks.acquire(lock(name));
            assertThat(inner.holdCount()).isEqualTo(2);
            assertThat(inner.fencingToken()).isEqualTo(outer.fencingToken());
            assertThat(inner.release()).isEqualTo(ReleaseOutcome.STILL_HELD);
            assertThat(othersMoving.tryAcquire(lock(name))).isEmpty();
            assertThat(outer.release()).isEqualTo(ReleaseOutcome.RELEASED);
            assertThat(outer.state()).isEqualTo(LockState.RELEASED);
            assertThat(outer.release()).isEqualTo(ReleaseOutcome.RELEASED);
        }
    }

    @Test
    void aDetachedHandleIsNotEnteredAgain() throws Exception {
        for (String name : bothDirections()) {
            LockHandle handle = locks.acquire(lock(name)).detach();
            assertThat(locks.tryAcquire(lock(name))).isEmpty();
            handle.close();
        }
    }

    @Test
    void readersShareBothAndAWriterWaits() throws Exception {
        for (String name : bothDirections()) {
            LockHandle writer = locks.acquire(lock(name));
            long token = writer.fencingToken();
            LockHandle reader = writer.downgrade();
            assertThat(writer.state()).isEqualTo(LockState.RELEASED);
            assertThat(reader.mode()).isEqualTo(LockMode.SHARED);
            assertThat(reader.fencingToken()).isGreaterThan(token);
            for (ShardedLocks other : List.of(othersOld, othersMoving, othersNext)) {
                other.tryAcquire(lock(name).shared()).orElseThrow().close();
                assertThat(other.tryAcquire(lock(name))).isEmpty();
            }
            assertThatExceptionOfType(LockUpgradeException.class).isThrownBy(() -> locks.tryAcquire(lock(name)));
            reader.close();
            othersMoving.tryAcquire(lock(name)).orElseThrow().close();
        }
    }

    @Test
    void rowLocksAreOfBothShards() throws Exception {
        for (String name : bothDirections()) {
            try (LockHandle handle = locks.acquire(lock(name).rowLock())) {
                assertThatThrownBy(handle::fencingToken).isInstanceOf(UnsupportedOperationException.class);
                for (ShardedLocks other : List.of(othersOld, othersMoving, othersNext)) {
                    assertThat(other.tryAcquire(lock(name).rowLock())).isEmpty();
                }
            }
            othersMoving.tryAcquire(lock(name).rowLock()).orElseThrow().close();
        }
    }

    @Test
    void viewsAreOfBothShards() throws Exception {
        for (String name : bothDirections()) {
            Lock view = locks.asLock(name);
            view.lock();
            assertThat(view.tryLock()).isTrue();
            view.unlock();
            for (ShardedLocks other : List.of(othersOld, othersMoving, othersNext)) {
                assertThat(other.asLock(name).tryLock()).isFalse();
            }
            view.unlock();
            assertThatThrownBy(view::unlock).isInstanceOf(IllegalMonitorStateException.class);
            for (ShardedLocks other : List.of(othersOld, othersNext)) {
                other.asLock(name).lockInterruptibly();
                assertThat(view.tryLock(50, MILLISECONDS)).isFalse();
                assertThat(view.tryLock()).isFalse();
                other.asLock(name).unlock();
            }
            assertThat(view.tryLock(20, SECONDS)).isTrue();
            view.unlock();
            view.lockInterruptibly();
            view.unlock();
        }
    }

    @Test
    void viewsOfReadersAndWritersAreOfBothShards() throws Exception {
        for (String name : bothDirections()) {
            ReadWriteLock views = locks.asReadWriteLock(name);
            views.readLock().lock();
            assertThat(othersOld.asReadWriteLock(name).writeLock().tryLock()).isFalse();
            assertThat(othersNext.asReadWriteLock(name).writeLock().tryLock()).isFalse();
            views.readLock().unlock();
            views.writeLock().lock();
            assertThat(othersOld.asReadWriteLock(name).readLock().tryLock()).isFalse();
            assertThat(othersNext.asReadWriteLock(name).readLock().tryLock()).isFalse();
            views.writeLock().unlock();
        }
    }

    @Test
    void noTransactionIsFencedByBoth() throws Exception {
        for (String name : bothDirections()) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> locks.acquire(lock(name).requireFence()))
                    .withMessageContaining("moves from shard");
            assertThatIllegalStateException()
                    .isThrownBy(() -> locks.tryAcquire(lock(name).requireFence()));
            try (LockHandle handle = locks.acquire(lock(name))) {
                assertThat(handle.isFenced()).isFalse();
                assertThatIllegalStateException()
                        .isThrownBy(() -> a.transaction().executeWithoutResult(status -> handle.guard()));
            }
            assertThatIllegalStateException().isThrownBy(() -> locks.serviceFor(name));
        }
    }

    @Test
    void otherNamesStay() throws Exception {
        try (LockHandle handle = locks.acquire(lock("stays").requireFence())) {
            assertThat(handle.isFenced()).isTrue();
            assertThat(b.locks().find("stays")).isEmpty();
            assertThat(locks.serviceFor("stays")).isSameAs(a.locks());
        }
    }

    /** With the same names, in opposite orders, by nodes with both rules of each step. */
    @Test
    void nodesOfEachStepDoNotDeadlock() throws Exception {
        for (ShardedLocks other : List.of(othersOld, othersNext)) {
            List<String> some = bothDirections();
            AtomicInteger inside = new AtomicInteger();
            List<Future<?>> done = new ArrayList<>();
            for (int thread = 0; thread < 4; thread++) {
                ShardedLocks node = thread % 2 == 0 ? locks : other;
                List<LockRequest> requests = thread < 2
                        ? List.of(lock(some.get(0)), lock(some.get(1)))
                        : List.of(lock(some.get(1)), lock(some.get(0)));
                done.add(start(() -> {
                    for (int round = 0; round < 10; round++) {
                        try (LockHandles all = node.acquireAll(requests)) {
                            assertThat(inside.incrementAndGet()).isEqualTo(1);
                            assertThat(all.handles()).hasSize(2);
                            inside.decrementAndGet();
                        }
                    }
                    return null;
                }));
            }
            for (Future<?> thread : done) {
                thread.get(60, SECONDS);
            }
        }
    }

    @Test
    void theTimeOfTheGrantDecidesWhoseTokenCounts() throws Exception {
        ShardedLocks late = ShardedLocks.of(mine(), OLD).movingTo(NEXT, Instant.EPOCH);
        for (String name : bothDirections()) {
            LockService old = ShardedLocks.of(mine(), OLD).serviceFor(name);
            LockService next = ShardedLocks.of(mine(), NEXT).serviceFor(name);
            try (LockHandle handle = locks.acquire(lock(name));
                    LockHandle nested = late.acquire(lock(name))) {
                assertThat(handle.fencingToken())
                        .isEqualTo(old.find(name).orElseThrow().fencingToken());
                assertThat(nested.fencingToken())
                        .isEqualTo(next.find(name).orElseThrow().fencingToken());
                assertThat(locks.find(name).orElseThrow().fencingToken()).isEqualTo(handle.fencingToken());
                assertThat(late.find(name).orElseThrow().fencingToken()).isEqualTo(nested.fencingToken());
            }
        }
    }

    /** The row shows the last token of the block that such a service takes for one grant. */
    @Test
    void theTokenOfTheNextShardCountsAlsoIfItsServiceKeepsReleasedLocks() throws Exception {
        try (LockService keeping = keeping()) {
            ShardedLocks late =
                    ShardedLocks.of(Map.of("a", a.locks(), "b", keeping), OLD).movingTo(NEXT, Instant.EPOCH);
            String name = bothDirections().get(0);
            try (LockHandle handle = late.acquire(lock(name))) {
                long last = keeping.find(name).orElseThrow().fencingToken();
                assertThat(handle.fencingToken())
                        .isBetween(last - 999, last)
                        .isNotEqualTo(a.locks().find(name).orElseThrow().fencingToken());
            }
        }
    }

    /** A service on the second database. It keeps released locks as soon as it can be asked for them. */
    private LockService keeping() {
        LockService keeping = nodes.open(
                        databaseOfB,
                        pool -> pool.setMaximumPoolSize(12),
                        builder -> builder.keepReleased(ofSeconds(1)).nodeLease(ofSeconds(60)))
                .locks();
        await().atMost(SOON)
                .until(() -> keeping.acquire(lock(bothDirections().get(0))).release() == ReleaseOutcome.KEPT);
        return keeping;
    }

    @Test
    void wrongMovesAreRefused() {
        assertThatIllegalStateException().isThrownBy(() -> locks.movingTo(OLD, Instant.EPOCH));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> othersOld.movingTo(Sharding.byHash(List.of("a", "c")), Instant.EPOCH));
    }
}
