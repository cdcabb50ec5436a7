package io.github.holdfast.integration;

import static io.github.holdfast.integration.Worker.LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.List;
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
import org.springframework.dao.CannotAcquireLockException;
import org.springframework.integration.support.locks.DistributedLock;
import org.springframework.integration.support.locks.LockRegistry;
import org.springframework.integration.support.locks.RenewableLockRegistry;

/** Nodes that take the locks of both registries, beside nodes that know only one of them. */
@OnEachDatabase
@SuppressWarnings("LockNotBeforeTry") // what a test has locked ends with the test
@TestInstance(Lifecycle.PER_CLASS)
class TransitionTest {

    private Database database;
    private FormerNode former;
    private FormerNode formerOfTransition;
    private FormerNode formerOfSecond;
    private Node node;
    private Node nodeOfTransition;
    private Node nodeOfSecond;
    private RenewableLockRegistry<DistributedLock> transition;
    private RenewableLockRegistry<DistributedLock> second;
    private Worker worker;
    private String key;

    @BeforeAll
    void start(Database onDatabase) {
        database = onDatabase;
        FormerNode.createTables(database);
        former = FormerNode.on(database);
        formerOfTransition = FormerNode.on(database);
        formerOfSecond = FormerNode.on(database);
        node = Node.on(database);
        nodeOfTransition = Node.on(database);
        nodeOfSecond = Node.on(database);
        transition = nodeOfTransition.registry().togetherWith(formerOfTransition.registry());
        second = nodeOfSecond.registry().togetherWith(formerOfSecond.registry());
    }

    @AfterAll
    void stop() {
        former.close();
        formerOfTransition.close();
        formerOfSecond.close();
        node.close();
        nodeOfTransition.close();
        nodeOfSecond.close();
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

    private boolean isFreeFor(LockRegistry<DistributedLock> registry) throws Exception {
        return worker.call(() -> {
            DistributedLock lock = registry.obtain(key);
            boolean isLocked = lock.tryLock(20, TimeUnit.MILLISECONDS);
            if (isLocked) {
                lock.unlock();
            }
            return isLocked;
        });
    }

    private void assertThatBothAreFree() throws Exception {
        assertThat(isFreeFor(former.registry())).as("the former lock").isTrue();
        assertThat(isFreeFor(node.registry())).as("Holdfast's lock").isTrue();
    }

    /** This is why the nodes of an application cannot just be replaced. */
    @Test
    void withoutTheTransitionTwoNodesHoldTheLock() throws Exception {
        former.registry().obtain(key).lock();
        assertThat(isFreeFor(node.registry())).isTrue();
        former.registry().obtain(key).unlock();
    }

    @ParameterizedTest
    @EnumSource
    void whatHoldsBothExcludesNodesOfEachKind(Way way) throws Exception {
        DistributedLock lock = transition.obtain(key);
        assertThat(way.lock(lock)).isTrue();
        assertThat(way.lock(lock)).as("nested").isTrue();
        for (int held = 2; held > 0; held--) {
            assertThat(isFreeFor(former.registry())).isFalse();
            assertThat(isFreeFor(node.registry())).isFalse();
            assertThat(isFreeFor(second)).isFalse();
            lock.unlock();
        }
        assertThatBothAreFree();
        assertThat(isFreeFor(second)).isTrue();
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
    }

    @Test
    void nodesOfEachKindExcludeWhatWantsBoth() throws Exception {
        for (LockRegistry<DistributedLock> held : List.of(former.registry(), node.registry(), second)) {
            held.obtain(key).lock();
            assertThat(isFreeFor(transition)).isFalse();
            assertThat(worker.tryLock(transition.obtain(key))).isFalse();
            assertThat(worker.call(() -> transition.obtain(key).tryLock(Duration.ofMillis(20), Way.TTL)))
                    .isFalse();
            held.obtain(key).unlock();
            assertThatBothAreFree();
        }
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "TRY_LOCK")
    void whoWaitsForTheFormerLockGetsBoth(Way way) throws Exception {
        DistributedLock held = former.registry().obtain(key);
        held.lock();
        Future<Boolean> waiting = worker.start(() -> way.lock(transition.obtain(key)));
        awaitHoldfastsLock();
        assertThat(waiting).isNotDone();
        held.unlock();
        assertThat(Worker.result(waiting)).isTrue();
        assertThat(held.tryLock()).isFalse();
        assertThat(node.lock(key).tryLock()).isFalse();
        worker.unlock(transition.obtain(key));
        assertThatBothAreFree();
    }

    /** While it is held, its holder waits for the other one. */
    private void awaitHoldfastsLock() {
        await().atMost(LONG).until(() -> node.locks().find("DEFAULT:" + key).isPresent());
    }

    @Test
    void anInterruptedWaitForTheFormerLockLeavesNothing() throws Exception {
        former.registry().obtain(key).lock();
        Future<Boolean> waiting = worker.start(() -> {
            transition.obtain(key).lockInterruptibly();
            return true;
        });
        awaitHoldfastsLock();
        worker.interrupt();
        assertThatThrownBy(() -> Worker.result(waiting)).isInstanceOf(InterruptedException.class);
        former.registry().obtain(key).unlock();
        assertThatBothAreFree();
    }

    @Test
    void aLeaseThatEndsDuringTheWaitForTheFormerLockLeavesNothing() throws Exception {
        former.registry().obtain(key).lock();
        Future<Boolean> waiting = worker.start(() -> {
            transition.obtain(key).lock(Duration.ofSeconds(2));
            return true;
        });
        awaitHoldfastsLock();
        await().atMost(LONG).until(() -> node.locks().find("DEFAULT:" + key).isEmpty());
        former.registry().obtain(key).unlock();
        assertThatThrownBy(() -> Worker.result(waiting))
                .isInstanceOf(CannotAcquireLockException.class)
                .hasRootCauseInstanceOf(LockLostException.class);
        assertThatBothAreFree();
    }

    @Test
    void aLostFormerLockIsReportedByANestedAcquisitionAndTheUnlock() throws Exception {
        try (FormerNode expiring = FormerNode.on(database, Duration.ofSeconds(2))) {
            DistributedLock lock = nodeOfTransition
                    .registry()
                    .togetherWith(expiring.registry())
                    .obtain(key);
            lock.lock();
            DistributedLock taken = former.registry().obtain(key);
            worker.lock(taken);
            assertThatThrownBy(lock::tryLock).isInstanceOf(CannotAcquireLockException.class);
            assertThatThrownBy(lock::unlock).isInstanceOf(ConcurrentModificationException.class);
            worker.unlock(taken);
            assertThatBothAreFree();
        }
    }

    @Test
    void aRenewalRenewsBoth() throws Exception {
        try (FormerNode expiring = FormerNode.on(database, Duration.ofSeconds(8))) {
            RenewableLockRegistry<DistributedLock> registry =
                    nodeOfTransition.registry().togetherWith(expiring.registry());
            DistributedLock lock = registry.obtain(key);
            lock.lock(Duration.ofSeconds(8));
            registry.renewLock(key, Duration.ofMinutes(1));
            await().during(Duration.ofSeconds(9))
                    .atMost(LONG)
                    .until(() -> !isFreeFor(former.registry()) && !isFreeFor(node.registry()));
            registry.renewLock(key);
            lock.unlock();
            assertThatBothAreFree();
        }
    }
}
