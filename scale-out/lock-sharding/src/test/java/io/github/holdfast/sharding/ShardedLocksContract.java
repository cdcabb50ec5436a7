package io.github.holdfast.sharding;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockHandles;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.semaphore.SemaphoreRequest;
import io.github.holdfast.service.LockService;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Locks by prefix on two databases, used by two nodes. */
@SuppressWarnings("LockNotBeforeTry") // what a test has locked ends with the test
abstract class ShardedLocksContract extends TwoShards {

    private static final Sharding SHARDING = Sharding.byPrefix(Map.of("a:", "a", "b:", "b"));

    private ShardedLocks locks;
    private ShardedLocks otherLocks;

    @BeforeAll
    void route() {
        locks = ShardedLocks.of(mine(), SHARDING);
        otherLocks = ShardedLocks.of(others(), SHARDING);
    }

    @AfterEach
    void nothingIsLeft() {
        assertThat(locks.held("", 100)).isEmpty();
    }

    private static LockRequest lock(String name) {
        return LockRequest.of(name);
    }

    @Test
    void aLockIsOnItsShardOnly() throws Exception {
        try (LockHandle handle = locks.acquire(lock("b:1"))) {
            assertThat(b.locks().find("b:1"))
                    .hasValueSatisfying(held -> assertThat(held.owner()).isEqualTo(handle.owner()));
            assertThat(a.locks().find("b:1")).isEmpty();
            assertThat(otherLocks.find("b:1")).isPresent();
            assertThat(locks.serviceFor("b:1")).isSameAs(b.locks());
        }
        assertThat(otherLocks.find("b:1")).isEmpty();
    }

    @Test
    void nodesExcludeEachOtherOnEachShard() throws Exception {
        for (String name : List.of("a:2", "b:2")) {
            long token;
            try (LockHandle handle = locks.tryAcquire(lock(name)).orElseThrow()) {
                token = handle.fencingToken();
                assertThat(otherLocks.tryAcquire(lock(name))).isEmpty();
                assertThatExceptionOfType(LockNotAcquiredException.class)
                        .isThrownBy(() -> otherLocks.acquire(lock(name).waitAtMost(ofMillis(50))));
            }
            try (LockHandle next = otherLocks.acquire(lock(name))) {
                assertThat(next.fencingToken()).isGreaterThan(token);
            }
        }
    }

    @Test
    void viewsAreThoseOfTheShard() throws Exception {
        Lock view = locks.asLock("b:3");
        view.lock();
        assertThat(othersB.locks().asLock("b:3").tryLock()).isFalse();
        view.unlock();
        locks.asReadWriteLock("b:3").readLock().lock();
        assertThat(othersB.locks().asReadWriteLock("b:3").writeLock().tryLock()).isFalse();
        assertThat(otherLocks.asReadWriteLock("b:3").readLock().tryLock()).isTrue();
        otherLocks.asReadWriteLock("b:3").readLock().unlock();
        locks.asReadWriteLock("b:3").readLock().unlock();
    }

    @Test
    void severalLocksAreAcquiredShardByShard() throws Exception {
        List<LockRequest> requests = List.of(lock("b:4"), lock("a:5"), lock("b:3"), lock("a:4"));
        try (LockHandles handles = locks.acquireAll(requests)) {
            assertThat(handles.handles()).extracting(LockHandle::name).containsExactly("a:4", "a:5", "b:3", "b:4");
            assertThat(a.locks().admin().held("", 10)).hasSize(2);
            assertThat(b.locks().admin().held("", 10)).hasSize(2);
            try (LockHandles nested = locks.acquireAll(requests)) {
                assertThat(nested.handles()).extracting(LockHandle::holdCount).containsOnly(2);
            }
        }
    }

    @Test
    void allOrNoneAreAcquired() throws Exception {
        List<LockRequest> requests = List.of(lock("a:6").waitAtMost(ofMillis(50)), lock("b:6"));
        try (LockHandle held = otherLocks.acquire(lock("b:6"))) {
            assertThatExceptionOfType(LockNotAcquiredException.class).isThrownBy(() -> locks.acquireAll(requests));
            assertThat(locks.held("", 10)).extracting(LockInfo::owner).containsExactly(held.owner());
        }
        locks.acquireAll(requests).close();
    }

    @Test
    void anInterruptLeavesNone() throws Exception {
        try (LockHandle held = otherLocks.acquire(lock("b:7"))) {
            Thread test = Thread.currentThread();
            Future<?> interrupt = start(() -> {
                await().atMost(SOON).until(() -> b.locks().admin().waiters().size() == 1);
                test.interrupt();
                return null;
            });
            assertThatExceptionOfType(InterruptedException.class)
                    .isThrownBy(() ->
                            locks.acquireAll(List.of(lock("a:7"), lock("b:7").waitForever())));
            interrupt.get(60, SECONDS);
            assertThat(locks.held("", 10)).extracting(LockInfo::owner).containsExactly(held.owner());
        }
    }

    /** The other node frees the first lock late, and never the second. */
    @Test
    void oneDeadlineIsForAllLocks() throws Exception {
        Duration wait = ofSeconds(14);
        Duration firstLease = ofSeconds(12);
        LockHandle first = otherLocks.acquire(lock("a:8").lease(firstLease));
        try (LockHandle second = otherLocks.acquire(lock("b:8"))) {
            long start = System.nanoTime();
            assertThatExceptionOfType(LockNotAcquiredException.class)
                    .isThrownBy(() -> locks.acquireAll(
                            List.of(lock("a:8").waitAtMost(wait), lock("b:8").waitAtMost(wait))))
                    .satisfies(refused -> assertThat(refused.lockName()).contains(second.name()));
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(firstLease.plus(wait));
        }
        assertThat(first.release()).isEqualTo(ReleaseOutcome.LOST);
    }

    @Test
    void threadsThatAskInOppositeOrdersDoNotDeadlock() throws Exception {
        AtomicInteger inside = new AtomicInteger();
        List<Future<?>> done = new ArrayList<>();
        for (int thread = 0; thread < 6; thread++) {
            ShardedLocks node = thread % 2 == 0 ? locks : otherLocks;
            List<LockRequest> requests =
                    (thread / 2) % 2 == 0 ? List.of(lock("a:9"), lock("b:9")) : List.of(lock("b:9"), lock("a:9"));
            done.add(start(() -> {
                for (int round = 0; round < 10; round++) {
                    try (LockHandles both = node.acquireAll(requests)) {
                        assertThat(inside.incrementAndGet()).isEqualTo(1);
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

    @Test
    void pagesRunOverAllShards() throws Exception {
        List<String> names = IntStream.range(0, 7)
                .mapToObj(number -> (number % 3 == 0 ? "b:" : "a:") + number)
                .sorted()
                .toList();
        List<LockRequest> requests = names.stream().map(LockRequest::of).toList();
        try (LockHandles all = locks.acquireAll(requests)) {
            for (int limit : List.of(1, 2, 3, 100)) {
                assertThat(namesByPages(limit)).isEqualTo(names);
            }
        }
    }

    @Test
    void aPageDoesNotEndBetweenThoseWhoShareALock() throws Exception {
        try (LockHandle one = locks.acquire(lock("b:shared").shared());
                LockHandle two = otherLocks.acquire(lock("b:shared").shared());
                LockHandle later = locks.acquire(lock("b:z"))) {
            assertThat(locks.held("", 1))
                    .extracting(LockInfo::owner)
                    .containsExactlyInAnyOrder(one.owner(), two.owner());
            assertThat(locks.held("b:shared", 1)).extracting(LockInfo::owner).containsExactly(later.owner());
        }
    }

    private List<String> namesByPages(int limit) {
        List<String> names = new ArrayList<>();
        List<LockInfo> page = locks.held("", limit);
        while (!page.isEmpty()) {
            page.forEach(held -> names.add(held.name()));
            page = locks.held(page.get(page.size() - 1).name(), limit);
        }
        return names;
    }

    @Test
    void aLockFencesTheTransactionsBesideIt() throws Exception {
        try (LockHandle handle = locks.acquire(lock("b:10").requireFence())) {
            b.transaction()
                    .executeWithoutResult(
                            status -> assertThat(handle.isFenced()).isTrue());
            a.transaction()
                    .executeWithoutResult(
                            status -> assertThat(handle.isFenced()).isFalse());
        }
        assertThatIllegalStateException()
                .isThrownBy(() -> a.transaction()
                        .execute(status -> locks.tryAcquire(lock("b:10").requireFence())))
                .withMessageContaining("requires a fence");
    }

    @Test
    void everythingElseIsAskedOfTheShard() throws Exception {
        LockService service = locks.serviceFor("b:permits");
        try (LockHandle permit =
                service.semaphore(SemaphoreRequest.of("b:permits").limit(1)).acquire()) {
            assertThat(b.locks().admin().semaphores().permits("b:permits")).hasSize(1);
            assertThat(permit.remaining()).isPositive();
        }
    }

    @Test
    void badRequestsAreRefused() {
        assertThatIllegalArgumentException().isThrownBy(() -> locks.acquireAll(List.of()));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> locks.acquireAll(List.of(lock("a:1"), lock("b:1"), lock("b:1"))))
                .withMessage("Lock 'b:1' was named twice");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> locks.tryAcquire(lock("a:1").waitAtMost(SOON)));
        assertThatIllegalArgumentException().isThrownBy(() -> locks.tryAcquire(lock("c:1")));
        assertThatIllegalArgumentException().isThrownBy(() -> locks.held("", 0));
    }

    @Test
    void wrongShardsAreRefused() {
        assertThatIllegalArgumentException().isThrownBy(() -> ShardedLocks.of(Map.of(), SHARDING));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ShardedLocks.of(Map.of("a", a.locks()), SHARDING))
                .withMessage("There is no shard 'b', only [a]");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ShardedLocks.of(Map.of("a", a.locks(), "b", a.locks()), SHARDING));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ShardedLocks.of(mine(), name -> "c").find("x"))
                .withMessage("There is no shard 'c', only [a, b]");
    }

    @SuppressWarnings("NullAway") // on purpose
    @Test
    void aRuleThatReturnsNullIsNamed() {
        Sharding broken = name -> null;
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ShardedLocks.of(mine(), broken).find("x"))
                .withMessageContaining("Lock 'x' has no shard");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> locks.movingTo(broken, Instant.EPOCH).find("a:1"))
                .withMessageContaining("Lock 'a:1' has no shard");
    }
}
