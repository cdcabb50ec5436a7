package io.github.holdfast.shedlock;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.test.OnEachDatabase;
import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import net.javacrumbs.shedlock.core.DefaultLockingTaskExecutor;
import net.javacrumbs.shedlock.core.LockAssert;
import net.javacrumbs.shedlock.core.LockExtender;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.LockingTaskExecutor;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.support.KeepAliveLockProvider;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What ShedLock itself does with the locks: it runs tasks, extends locks and keeps them alive. */
@OnEachDatabase
class LockingTaskTest extends ProviderContract {

    private LockProvider provider;
    private LockProvider others;
    private LockingTaskExecutor executor;

    @BeforeEach
    void makeExecutor() {
        provider = HoldfastLockProvider.of(one.locks());
        others = HoldfastLockProvider.of(other.locks());
        executor = new DefaultLockingTaskExecutor(provider);
    }

    @Test
    void aTaskRunsUnderTheLock() throws Throwable {
        String result = executor.executeWithLock(
                        () -> {
                            LockAssert.assertLocked();
                            assertRefused(others);
                            return "done";
                        },
                        configuration(LONG, ZERO))
                .getResult();
        assertThat(result).isEqualTo("done");
        assertFree(others);
    }

    @Test
    void aTaskIsSkippedWhileAnotherServiceHasTheLock() throws Throwable {
        SimpleLock lock = taken(others);
        assertThat(executor.executeWithLock(() -> "not done", configuration(LONG, ZERO))
                        .wasExecuted())
                .isFalse();
        lock.unlock();
        assertThat(executor.executeWithLock(() -> "done", configuration(LONG, ZERO))
                        .wasExecuted())
                .isTrue();
    }

    @Test
    void theLockIsFreeAfterATaskThatFailed() {
        IllegalArgumentException failure = new IllegalArgumentException("failed");
        assertThatThrownBy(() -> executor.executeWithLock(
                        (Runnable) () -> {
                            throw failure;
                        },
                        configuration(LONG, ZERO)))
                .isSameAs(failure);
        assertFree(others);
    }

    @Test
    void aFailedTaskKeepsTheLockUnavailableForAtLeastThatLong() {
        Duration atLeast = ofSeconds(5);
        long before = System.nanoTime();
        assertThatThrownBy(() -> executor.executeWithLock(
                        (Runnable) () -> {
                            throw new IllegalArgumentException("failed");
                        },
                        configuration(LONG, atLeast)))
                .isInstanceOf(IllegalArgumentException.class);
        assertRefused(others);
        awaited(others).unlock();
        assertThat(since(before)).isGreaterThanOrEqualTo(atLeast);
    }

    @Test
    void aTaskInATaskOfTheSameNameRuns() throws Throwable {
        Boolean wasExecuted = executor.executeWithLock(
                        () -> executor.executeWithLock(() -> "inner", configuration(LONG, ZERO))
                                .wasExecuted(),
                        configuration(LONG, ZERO))
                .getResult();
        assertThat(wasExecuted).isTrue();
        assertFree(others);
    }

    @Test
    void aTaskExtendsItsOwnLock() {
        executor.executeWithLock(
                (Runnable) () -> {
                    LockExtender.extendActiveLock(LONG, ZERO);
                    await().during(ofSeconds(6))
                            .atMost(SOON)
                            .until(() -> lock(others).isEmpty());
                },
                configuration(ofSeconds(5), ZERO));
        assertFree(others);
    }

    @Test
    void theTransactionOfATaskThatHasLostItsLockDoesNotCommit() {
        assertThatThrownBy(() -> executor.executeWithLock(
                        (Runnable) () -> {
                            SimpleLock next = awaited(others);
                            try {
                                one.transaction().executeWithoutResult(status -> {});
                            } finally {
                                next.unlock();
                            }
                        },
                        configuration(ofSeconds(2), ZERO)))
                .isInstanceOf(LockLostException.class);
        one.transaction().executeWithoutResult(status -> {});
    }

    /** It extends locks from a thread of its own. */
    @Test
    void shedLocksOwnKeepAliveWorks() {
        ScheduledExecutorService thread = Executors.newSingleThreadScheduledExecutor();
        try {
            LockProvider keeping = new KeepAliveLockProvider(HoldfastLockProvider.of(one.locks()), thread);
            SimpleLock lock = taken(keeping, ofSeconds(30), ofSeconds(5));
            assertRefused(others);
            lock.unlock();
            awaited(others).unlock();
        } finally {
            thread.shutdownNow();
        }
    }
}
