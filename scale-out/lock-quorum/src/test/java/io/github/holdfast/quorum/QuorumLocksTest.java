package io.github.holdfast.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockHandles;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockMode;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Lock;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The API, on three databases in memory that all answer. */
@SuppressWarnings("LockNotBeforeTry") // what a test has locked ends with the test
class QuorumLocksTest {

    private static final Duration LONG = Duration.ofSeconds(60);
    private static final Duration SHORT = Duration.ofMillis(300);

    private static List<Database> databases = List.of();
    private static Client one;
    private static Client other;

    @BeforeAll
    static void start() {
        databases = Stream.generate(() -> Database.create(TestDatabase.H2_MEMORY))
                .limit(3)
                .toList();
        one = Client.on(databases);
        other = Client.on(databases);
    }

    @AfterAll
    static void stop() {
        one.close();
        other.close();
        databases.forEach(Database::close);
    }

    private static LockRequest shortly(String name) {
        return LockRequest.of(name).waitAtMost(Duration.ZERO);
    }

    @Test
    void oneHoldsItAndTheOtherGetsItAfterTheRelease() throws Exception {
        try (LockHandle lock = one.locks().acquire(LockRequest.of("release"))) {
            assertThat(lock.name()).isEqualTo("release");
            assertThat(lock.state()).isEqualTo(LockState.HELD);
            assertThat(lock.mode()).isEqualTo(LockMode.EXCLUSIVE);
            assertThat(lock.isFenced()).isFalse();
            assertThat(lock.remaining()).isPositive().isLessThanOrEqualTo(Client.NODE_LEASE);
            assertThatThrownBy(() -> other.locks().acquire(shortly("release")))
                    .isInstanceOf(LockNotAcquiredException.class)
                    .hasMessageContaining("of 3 members refused it");
            assertThat(other.locks().tryAcquire(LockRequest.of("release"))).isEmpty();
            assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
            assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
            assertThat(lock.state()).isEqualTo(LockState.RELEASED);
            assertThat(lock.remaining()).isZero();
            assertThat(lock.holdCount()).isZero();
        }
        LockHandle next = other.locks().tryAcquire(LockRequest.of("release")).orElseThrow();
        assertThat(next.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    @Test
    void aWaitEndsWithItsTime() throws Exception {
        Duration wait = Duration.ofSeconds(2);
        try (LockHandle lock = one.locks().acquire(LockRequest.of("wait"))) {
            long start = System.nanoTime();
            assertThatThrownBy(
                            () -> other.locks().acquire(LockRequest.of("wait").waitAtMost(wait)))
                    .isInstanceOf(LockNotAcquiredException.class);
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isBetween(wait, wait.plusSeconds(30));
            assertThat(lock.state()).isEqualTo(LockState.HELD);
        }
    }

    @Test
    void theTokenHasAMajorityAndGrows() throws Exception {
        QuorumToken last = null;
        for (Client client : List.of(one, other, one, one)) {
            try (LockHandle lock = client.locks().acquire(LockRequest.of("token"))) {
                QuorumToken token = QuorumToken.of(lock);
                assertThat(token.ofMembers().stream().filter(number -> number.isPresent()))
                        .hasSizeGreaterThanOrEqualTo(2);
                if (last != null) {
                    assertThat(last.isOlderThan(token)).isTrue();
                    assertThat(token.isOlderThan(last)).isFalse();
                }
                last = token.mergedWith(last);
                assertThat(QuorumToken.of(lock)).isEqualTo(token);
                assertThatThrownBy(lock::fencingToken)
                        .isInstanceOf(UnsupportedOperationException.class)
                        .hasMessageContaining("QuorumToken.of");
            }
        }
        try (LockHandle ofOne = one.member(0).acquire(LockRequest.of("token of one"))) {
            assertThatThrownBy(() -> QuorumToken.of(ofOne)).isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void aLeaseEndsUnlessItIsRenewed() throws Exception {
        Duration lease = Duration.ofSeconds(5);
        LockHandle lock = one.locks().acquire(LockRequest.of("lease").lease(lease));
        List<LockLost> told = new CopyOnWriteArrayList<>();
        lock.onLost(told::add);
        lock.renew(Duration.ofSeconds(8));
        assertThat(lock.remaining()).isGreaterThan(lease).isLessThanOrEqualTo(Duration.ofSeconds(8));
        lock.ensureValidFor(Duration.ofSeconds(12));
        assertThat(lock.remaining()).isGreaterThan(Duration.ofSeconds(9));
        assertThatThrownBy(() -> other.locks().acquire(shortly("lease"))).isInstanceOf(LockNotAcquiredException.class);

        try (LockHandle next = other.locks().acquire(LockRequest.of("lease").waitAtMost(LONG))) {
            assertThat(lock.state()).isEqualTo(LockState.LOST);
            assertThat(lock.remaining()).isZero();
            assertThat(QuorumToken.of(lock).isOlderThan(QuorumToken.of(next))).isTrue();
        }
        await().atMost(LONG).until(() -> !told.isEmpty());
        assertThat(told).containsExactly(new LockLost("lease", lock.owner(), 0, LossCause.EXPIRED));
        List<LockLost> toldLate = new CopyOnWriteArrayList<>();
        lock.onLost(toldLate::add);
        await().atMost(LONG).until(() -> toldLate.size() == 1);
        assertThatThrownBy(() -> lock.renew(lease)).isInstanceOf(LockLostException.class);
        assertThatThrownBy(() -> lock.ensureValidFor(lease)).isInstanceOf(LockLostException.class);
        assertThatThrownBy(lock::close).isInstanceOf(LockLostException.class);
        assertThat(lock.state()).isEqualTo(LockState.RELEASED);
        assertThat(told).hasSize(1);
    }

    @Test
    void aThreadReentersItsOwnLock() throws Exception {
        LockHandle outer = one.locks().acquire(LockRequest.of("nested"));
        LockHandle inner = one.locks().tryAcquire(LockRequest.of("nested")).orElseThrow();
        assertThat(inner.holdCount()).isEqualTo(2);
        assertThat(QuorumToken.of(inner)).isEqualTo(QuorumToken.of(outer));
        assertThat(one.locks().tryAcquire(LockRequest.of("nested").notReentrant()))
                .isEmpty();
        assertThat(CompletableFuture.supplyAsync(() -> one.locks().tryAcquire(LockRequest.of("nested")))
                        .get())
                .isEmpty();
        assertThat(outer.release()).isEqualTo(ReleaseOutcome.STILL_HELD);
        assertThat(outer.state()).isEqualTo(LockState.RELEASED);
        assertThat(inner.state()).isEqualTo(LockState.HELD);
        inner.detach();
        assertThat(one.locks().tryAcquire(LockRequest.of("nested"))).isEmpty();
        assertThat(inner.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThatThrownBy(() -> inner.renew(SHORT)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void aNestedRequestNeedsALeaseIfTheHoldHasOne() throws Exception {
        try (LockHandle outer =
                one.locks().acquire(LockRequest.of("nested lease").lease(Duration.ofSeconds(10)))) {
            assertThatThrownBy(() -> one.locks().tryAcquire(LockRequest.of("nested lease")))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("with a lease");
            try (LockHandle inner =
                    one.locks().acquire(LockRequest.of("nested lease").lease(Duration.ofSeconds(60)))) {
                assertThat(inner.remaining()).isGreaterThan(Duration.ofSeconds(50));
            }
            assertThat(outer.state()).isEqualTo(LockState.HELD);
        }
    }

    @Test
    void aLockOfJavaLocks() throws Exception {
        Lock lock = one.locks().asLock("java");
        lock.lock();
        assertThat(lock.tryLock()).isTrue();
        Lock same = one.locks().asLock("java");
        assertThat(CompletableFuture.supplyAsync(same::tryLock).get()).isFalse();
        assertThat(other.locks().asLock("java").tryLock(0, TimeUnit.MILLISECONDS))
                .isFalse();
        same.unlock();
        lock.unlock();
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
        assertThatThrownBy(lock::newCondition).isInstanceOf(UnsupportedOperationException.class);
        assertThat(other.locks().asLock("java").tryLock(LONG.toSeconds(), TimeUnit.SECONDS))
                .isTrue();
        other.locks().asLock("java").unlock();
    }

    @Test
    void severalLocksOrNone() throws Exception {
        try (LockHandle taken = other.locks().acquire(LockRequest.of("all b"))) {
            assertThatThrownBy(() -> one.locks().acquireAll(List.of(shortly("all b"), LockRequest.of("all a"))))
                    .isInstanceOf(LockNotAcquiredException.class);
            assertThat(taken.state()).isEqualTo(LockState.HELD);
        }
        try (LockHandles all = other.locks().acquireAll(List.of(shortly("all b"), LockRequest.of("all a")))) {
            assertThat(all.handles()).extracting(LockHandle::name).containsExactly("all a", "all b");
            assertThat(all.remaining()).isPositive();
        }
        assertThatThrownBy(() -> one.locks().acquireAll(List.of(shortly("x"), shortly("x"))))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> one.locks().acquireAll(List.of())).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void findShowsTheHolderOfAMajority() throws Exception {
        assertThat(one.locks().find("found")).isEmpty();
        try (LockHandle lock = one.locks().acquire(LockRequest.of("found"))) {
            LockInfo info = other.locks().find("found").orElseThrow();
            assertThat(info.owner()).isEqualTo(lock.owner());
            assertThat(info.holder()).contains(Thread.currentThread().getName());
            assertThat(info.fencingToken()).isZero();
        }
        assertThat(one.locks().find("found")).isEmpty();
        try (LockHandle atOne = one.member(0).acquire(LockRequest.of("found at one"))) {
            assertThat(atOne.state()).isEqualTo(LockState.HELD);
            assertThat(one.locks().find("found at one")).isEmpty();
        }
    }

    @Test
    void aLockOfAMemberCostsThatMember() throws Exception {
        try (LockHandle atOne = one.member(0).acquire(LockRequest.of("mixed"));
                LockHandle lock = other.locks().acquire(LockRequest.of("mixed"))) {
            assertThat(atOne.state()).isEqualTo(LockState.HELD);
            assertThat(QuorumToken.of(lock).ofMembers().get(0)).isEmpty();
        }
        try (LockHandle first = one.member(0).acquire(LockRequest.of("mixed"));
                LockHandle second = one.member(2).acquire(LockRequest.of("mixed"))) {
            assertThat(List.of(first.state(), second.state())).containsOnly(LockState.HELD);
            assertThat(other.locks().tryAcquire(LockRequest.of("mixed"))).isEmpty();
        }
    }

    @Test
    void whatOnlyOneDatabaseCanGiveIsRefused() throws Exception {
        LockRequest request = LockRequest.of("refused");
        Map.of(
                        request.rowLock(), "a row lock",
                        request.shared(), "shared",
                        request.fair(), "fair",
                        request.owner("me"), "a chosen owner",
                        request.minimumHold(SHORT), "a minimum hold")
                .forEach((refused, why) -> assertThatThrownBy(() -> one.locks().tryAcquire(refused))
                        .isInstanceOf(UnsupportedOperationException.class)
                        .hasMessageContaining(why));
        assertThatThrownBy(() -> one.locks().acquire(request.requireFence()))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("fenced");
        assertThatThrownBy(() -> one.locks().tryAcquire(shortly("refused")))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> one.locks().asReadWriteLock("refused"))
                .isInstanceOf(UnsupportedOperationException.class);
        try (LockHandle lock = one.locks().acquire(request)) {
            assertThatThrownBy(lock::guard).isInstanceOf(UnsupportedOperationException.class);
            assertThatThrownBy(lock::downgrade).isInstanceOf(UnsupportedOperationException.class);
            assertThatThrownBy(() -> lock.renew(Duration.ZERO)).isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> lock.renew(Duration.ofDays(1))).isInstanceOf(IllegalArgumentException.class);
            assertThat(lock.state()).isEqualTo(LockState.HELD);
        }
    }

    @Test
    void theMembersMustBeAnOddNumberOfDifferentDatabases() {
        List<LockService> members = one.members();
        assertThatThrownBy(() -> QuorumLocks.of(members.subList(0, 2))).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> QuorumLocks.of(members.subList(0, 1))).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> QuorumLocks.of(List.of(members.get(0), members.get(1), members.get(1))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("2 are different");
        assertThatThrownBy(() -> QuorumLocks.of(List.of(members.get(0), members.get(1), other.member(1))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("the same database");
    }

    @Test
    void membersOnOneDatabaseAreFoundWithALongTimeoutToo() {
        List<LockService> same = List.of(one.member(0), one.member(1), other.member(1));
        QuorumLocksBuilder builder = QuorumLocks.builder(same).memberTimeout(LONG);
        long start = System.nanoTime();
        assertThatThrownBy(builder::build)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("the same database");
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(LONG.dividedBy(2));
    }

    @Test
    void anInterruptLeavesNothingHeld() throws Exception {
        try (LockHandle lock = one.locks().acquire(LockRequest.of("interrupted"))) {
            AtomicReference<Throwable> thrown = new AtomicReference<>();
            Thread waiting = new Thread(() -> {
                try {
                    other.locks().acquire(LockRequest.of("interrupted").waitForever());
                } catch (InterruptedException | RuntimeException expected) {
                    thrown.set(expected);
                }
            });
            waiting.start();
            await().atMost(LONG).until(() -> waiting.getState() == Thread.State.TIMED_WAITING);
            waiting.interrupt();
            waiting.join(LONG.toMillis());
            assertThat(thrown.get()).isInstanceOf(InterruptedException.class);
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> one.locks().acquire(LockRequest.of("interrupted")))
                    .as("a re-entry")
                    .isInstanceOf(InterruptedException.class);
            assertThat(lock.state()).isEqualTo(LockState.HELD);
        }
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> other.locks().acquire(LockRequest.of("interrupted")))
                .isInstanceOf(InterruptedException.class);
        await().atMost(LONG)
                .untilAsserted(() -> assertThat(one.members())
                        .allSatisfy(
                                member -> assertThat(member.find("interrupted")).isEmpty()));
    }

    @Test
    void closingEndsHoldsWaitersAndThreads() throws Exception {
        AtomicReference<LockLost> told = new AtomicReference<>();
        CompletableFuture<Throwable> waiter = new CompletableFuture<>();
        LockHandle kept = one.locks().acquire(LockRequest.of("kept"));
        Set<Thread> before = threadsOfQuorums();
        QuorumLocks closed = QuorumLocks.of(other.members());
        LockHandle lock = closed.acquire(LockRequest.of("closed"));
        lock.onLost(told::set);
        Thread waiting = new Thread(() -> {
            try {
                closed.acquire(LockRequest.of("kept").waitForever());
            } catch (InterruptedException | RuntimeException expected) {
                waiter.complete(expected);
            }
        });
        waiting.start();
        await().atMost(LONG).until(() -> waiting.getState() == Thread.State.TIMED_WAITING);

        Set<Thread> threads = threadsOfQuorums();
        threads.removeAll(before);
        assertThat(threads).isNotEmpty();
        closed.close();
        closed.close();

        assertThat(waiter.get(LONG.toSeconds(), TimeUnit.SECONDS)).isInstanceOf(IllegalStateException.class);
        await().atMost(LONG).until(() -> told.get() != null);
        assertThat(told.get()).extracting(LockLost::cause).isEqualTo(LossCause.SERVICE_CLOSED);
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.LOST);
        assertThatThrownBy(() -> closed.tryAcquire(LockRequest.of("closed")))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("closed");
        await().atMost(LONG)
                .untilAsserted(() -> assertThat(one.locks().find("closed")).isEqualTo(Optional.empty()));
        await().atMost(LONG).untilAsserted(() -> assertThat(threads).noneMatch(Thread::isAlive));
        assertThat(kept.state()).isEqualTo(LockState.HELD);
        kept.release();
    }

    /** They have the name of an acquisition while they ask a member. */
    private static Set<Thread> threadsOfQuorums() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("holdfast-quorum")
                        || thread.getName().startsWith("quorum:"))
                .collect(Collectors.toCollection(HashSet::new));
    }
}
