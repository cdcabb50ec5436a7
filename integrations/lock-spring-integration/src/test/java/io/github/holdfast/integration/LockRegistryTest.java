package io.github.holdfast.integration;

import static io.github.holdfast.integration.Worker.LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.integration.support.locks.DistributedLock;

/** What users of Spring Integration expect of a lock registry: exclusion, order, waiting, interruption, re-entry. */
@OnEachDatabase
@SuppressWarnings("LockNotBeforeTry") // what a test has locked ends with the test
@TestInstance(Lifecycle.PER_CLASS)
class LockRegistryTest {

    private Node node;
    private Node other;
    private Worker worker;
    private String key;

    @BeforeAll
    void start(Database database) {
        node = Node.on(database);
        other = Node.on(database);
    }

    @AfterAll
    void stop() {
        node.close();
        other.close();
    }

    @BeforeEach
    void prepare(TestInfo test) throws Exception {
        worker = new Worker();
        key = test.getTestMethod().orElseThrow().getName();
    }

    @AfterEach
    void endThread() {
        worker.close();
    }

    /** The lock as another thread sees it, on the same node and on the other one. */
    private List<DistributedLock> ofOthers() {
        return List.of(node.lock(key), other.lock(key));
    }

    private void assertThatOthersAreRefused() throws Exception {
        for (DistributedLock lock : ofOthers()) {
            assertThat(worker.tryLock(lock)).as("tryLock()").isFalse();
            assertThat(worker.call(() -> lock.tryLock(20, TimeUnit.MILLISECONDS)))
                    .as("tryLock with a time")
                    .isFalse();
            assertThat(worker.call(() -> lock.tryLock(Duration.ofMillis(20), Way.TTL)))
                    .as("tryLock with a time to live")
                    .isFalse();
        }
    }

    private void assertThatOthersGetTheLock() throws Exception {
        for (DistributedLock lock : ofOthers()) {
            assertThat(worker.tryLock(lock)).isTrue();
            worker.unlock(lock);
        }
    }

    @ParameterizedTest
    @EnumSource
    void aLockExcludesAllOthersUntilItIsUnlocked(Way way) throws Exception {
        DistributedLock lock = node.lock(key);
        for (int round = 0; round < 3; round++) {
            assertThat(way.lock(lock)).isTrue();
            assertThatOthersAreRefused();
            lock.unlock();
            assertThatOthersGetTheLock();
        }
    }

    @ParameterizedTest
    @EnumSource(mode = Mode.EXCLUDE, names = "TRY_LOCK")
    void whoWaitsGetsTheLockAfterTheHolder(Way way) throws Exception {
        for (Node waitingOn : List.of(node, other)) {
            DistributedLock lock = node.lock(key);
            DistributedLock wanted = waitingOn.lock(key);
            List<String> order = new CopyOnWriteArrayList<>();
            lock.lock();
            Future<Boolean> waiting = worker.start(() -> {
                boolean isLocked = way.lock(wanted);
                order.add("waiter");
                return isLocked;
            });
            awaitWaiterOn(waitingOn);
            order.add("holder");
            lock.unlock();
            assertThat(Worker.result(waiting)).isTrue();
            assertThat(order).containsExactly("holder", "waiter");
            assertThat(lock.tryLock()).isFalse();
            worker.unlock(wanted);
        }
    }

    private static void awaitWaiterOn(Node node) {
        await().atMost(LONG).until(() -> node.locks().admin().waiting() == 1);
    }

    @Test
    void aWaitEndsWithItsTime() throws Exception {
        DistributedLock lock = node.lock(key);
        lock.lock();
        for (DistributedLock wanted : ofOthers()) {
            long start = System.nanoTime();
            assertThat(worker.call(() -> wanted.tryLock(300, TimeUnit.MILLISECONDS)))
                    .isFalse();
            assertThat(worker.call(() -> wanted.tryLock(Duration.ofMillis(300), Way.TTL)))
                    .isFalse();
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThan(Duration.ofMillis(600));
            assertThat(worker.call(() -> wanted.tryLock(-1, TimeUnit.DAYS))).isFalse();
            assertThat(worker.call(() -> wanted.tryLock(Duration.ofDays(-1), Way.TTL)))
                    .isFalse();
        }
        lock.unlock();
        for (DistributedLock free : ofOthers()) {
            assertThat(worker.call(() -> free.tryLock(Long.MAX_VALUE, TimeUnit.MILLISECONDS)))
                    .isTrue();
            worker.unlock(free);
            assertThat(worker.call(() -> free.tryLock(Duration.ofSeconds(Long.MAX_VALUE), Way.TTL)))
                    .isTrue();
            worker.unlock(free);
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"LOCK_INTERRUPTIBLY", "TRY_LOCK_WITH_TIME", "TRY_LOCK_WITH_TTL"})
    void anInterruptEndsAWaitAndNothingIsHeld(Way way) throws Exception {
        DistributedLock lock = node.lock(key);
        lock.lock();
        Future<Boolean> waiting = worker.start(() -> way.lock(lock));
        awaitWaiterOn(node);
        worker.interrupt();
        assertThatThrownBy(() -> Worker.result(waiting)).isInstanceOf(InterruptedException.class);
        assertThatThrownBy(() -> worker.unlock(lock)).isInstanceOf(IllegalMonitorStateException.class);
        assertThatThrownBy(() -> worker.call(() -> {
                    Thread.currentThread().interrupt();
                    return way.lock(node.lock("free"));
                }))
                .isInstanceOf(InterruptedException.class);
        lock.unlock();
        assertThatOthersGetTheLock();
    }

    @ParameterizedTest
    @EnumSource(names = {"LOCK", "LOCK_WITH_TTL"})
    void anInterruptIsPutAsideUntilTheLockIsThere(Way way) throws Exception {
        DistributedLock lock = node.lock(key);
        lock.lock();
        Future<Boolean> isInterrupted = worker.start(() -> {
            assertThat(way.lock(lock)).isTrue();
            return Thread.interrupted();
        });
        awaitWaiterOn(node);
        worker.interrupt();
        await().during(Duration.ofMillis(200)).atMost(LONG).until(() -> !isInterrupted.isDone());
        lock.unlock();
        assertThat(Worker.result(isInterrupted)).isTrue();
        assertThat(lock.tryLock()).isFalse();
        worker.unlock(lock);
        assertThatOthersGetTheLock();
    }

    @ParameterizedTest
    @EnumSource
    void aThreadReentersItsLockInEveryWay(Way outer) throws Exception {
        DistributedLock lock = node.lock(key);
        assertThat(outer.lock(lock)).isTrue();
        for (Way inner : Way.values()) {
            DistributedLock again = node.lock(key);
            assertThat(again).isSameAs(lock);
            assertThat(inner.lock(again)).isTrue();
        }
        for (int held = 1 + Way.values().length; held > 0; held--) {
            assertThatOthersAreRefused();
            lock.unlock();
        }
        assertThatOthersGetTheLock();
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
    }

    @Test
    void onlyTheHoldingThreadUnlocks() throws Exception {
        DistributedLock lock = node.lock(key);
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
        lock.lock();
        for (DistributedLock notHeld : ofOthers()) {
            assertThatThrownBy(() -> worker.unlock(notHeld))
                    .isInstanceOf(IllegalMonitorStateException.class)
                    .hasMessageContaining("does not own lock 'DEFAULT:" + key + "'");
        }
        assertThatOthersAreRefused();
        lock.unlock();
    }

    @Test
    void locksOfDifferentKeysAndRegionsAreDifferent() throws Exception {
        HoldfastLockRegistry ofRegion = HoldfastLockRegistry.of(other.locks(), "orders");
        DistributedLock lock = node.lock(key);
        DistributedLock ofOtherKey = other.lock("another " + key);
        DistributedLock ofOtherRegion = ofRegion.obtain(key);
        lock.lock();
        for (DistributedLock different : List.of(ofOtherKey, ofOtherRegion)) {
            assertThat(different).isNotEqualTo(lock);
            assertThat(worker.tryLock(different)).isTrue();
        }
        assertThat(node.locks().find("DEFAULT:" + key)).isPresent();
        assertThat(node.locks().find("orders:" + key)).isPresent();
        for (DistributedLock different : List.of(ofOtherKey, ofOtherRegion)) {
            worker.unlock(different);
        }
        lock.unlock();
        assertThat(node.locks().find("DEFAULT:" + key)).isEmpty();
    }

    @ParameterizedTest
    @EnumSource
    void aTimeToLiveIsALeaseAndWithoutOneTheNodeHoldsTheLock(Way way) throws Exception {
        DistributedLock lock = node.lock(key);
        assertThat(way.lock(lock)).isTrue();
        LockInfo held = other.locks().find("DEFAULT:" + key).orElseThrow();
        assertThat(held.nodeId() == null).isEqualTo(way.hasTtl());
        if (way.hasTtl()) {
            assertThat(held.expiresIn()).isBetween(Way.TTL.minusMinutes(1), Way.TTL);
        }
        lock.unlock();
    }

    @Test
    void aHoldOutlivesTheObjectThatWasLocked() throws Exception {
        WeakReference<DistributedLock> dropped = lockAndDrop();
        await().atMost(LONG).until(() -> {
            System.gc();
            return dropped.get() == null;
        });
        assertThatOthersAreRefused();
        node.lock(key).unlock();
        assertThatOthersGetTheLock();
    }

    private WeakReference<DistributedLock> lockAndDrop() {
        DistributedLock lock = node.lock(key);
        lock.lock();
        return new WeakReference<>(lock);
    }

    @ParameterizedTest
    @ValueSource(strings = {"orders ", "two\nlines"})
    void aKeyThatNoLockCanHaveIsRefused(String invalid) {
        assertThatIllegalArgumentException().isThrownBy(() -> node.registry().obtain(invalid));
        assertThatIllegalArgumentException().isThrownBy(() -> node.registry().renewLock(invalid));
        assertThatIllegalArgumentException().isThrownBy(() -> node.registry().obtain("x".repeat(248)));
        assertThatIllegalArgumentException().isThrownBy(() -> node.registry().obtain(4711));
    }

    @Test
    void aLockHasNoConditions() {
        assertThatThrownBy(node.lock(key)::newCondition).isInstanceOf(UnsupportedOperationException.class);
    }
}
