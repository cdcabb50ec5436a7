package io.github.holdfast.shedlock;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofDays;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.semaphore.SemaphoreRequest;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.jdbc.CountingDataSource;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import net.javacrumbs.shedlock.core.DefaultLockingTaskExecutor;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.LockingTaskExecutor;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What is the same on each database. */
@OnDatabase(TestDatabase.H2_MEMORY)
class HoldfastLockProviderTest extends ProviderContract {

    private HoldfastLockProvider provider;

    @BeforeEach
    void makeProvider() {
        provider = HoldfastLockProvider.of(one.locks());
    }

    @Test
    void operatorsSeeTheLockAndItsLease() {
        SimpleLock lock = taken(provider);
        LockInfo info = other.locks().find(name).orElseThrow();
        assertThat(info.name()).isEqualTo(name);
        assertThat(info.expiresIn()).isBetween(LONG.dividedBy(2), LONG);
        lock.unlock();
    }

    @Test
    void durationsOutOfRangeStillGiveALock() {
        taken(provider, ofDays(1000), ZERO).unlock();
        assertFree(provider);
        taken(provider, ZERO, ZERO).unlock();
        assertFree(provider);
    }

    /** A lock that is unlocked in a transaction stays held until the end of that, but not for its own thread. */
    @Test
    void eachTaskOfATransactionGetsTheLock() {
        for (LockProvider each : List.of(provider, provider.detached(), provider.keepAlive())) {
            LockingTaskExecutor executor = new DefaultLockingTaskExecutor(each);
            AtomicInteger runs = new AtomicInteger();
            one.transaction().executeWithoutResult(status -> {
                for (int task = 0; task < 3; task++) {
                    executor.executeWithLock((Runnable) runs::incrementAndGet, configuration(LONG, ZERO));
                }
                taken(each).unlock();
                assertRefused(HoldfastLockProvider.of(other.locks()));
            });
            assertThat(runs).hasValue(3);
            taken(each).unlock();
        }
    }

    @Test
    void anApplicationsOwnLockOfTheNameExcludesIt() throws InterruptedException {
        try (LockHandle own = one.locks().acquire(LockRequest.of(name))) {
            assertRefused(provider);
        }
        assertFree(provider);
    }

    @Test
    void aNameThatHoldfastDoesNotAllowIsAnErrorAndNotARefusal() {
        name = " job";
        assertThatIllegalArgumentException().isThrownBy(() -> lock(provider)).withMessageContaining("name");
    }

    @Test
    void theNameOfASemaphoreIsAnErrorAndNotARefusal() throws InterruptedException {
        one.locks().semaphore(SemaphoreRequest.of(name).limit(1)).acquire().release();
        assertThatIllegalStateException().isThrownBy(() -> lock(provider)).withMessageContaining("semaphore");
    }

    @Test
    void aLockOfTheSameProcessCostsTwoStatements(Database database) {
        CountingDataSource counting = new CountingDataSource(database.dataSource());
        LockProvider counted = HoldfastLockProvider.of(nodes.openOver(counting).locks());
        taken(counted).unlock();
        counting.reset();
        taken(counted).unlock();
        assertThat(counting.sql()).hasSize(2);
        assertThat(counting.commits()).isZero();

        counting.reset();
        taken(counted, LONG, Duration.ofMillis(1)).unlock();
        // The third one if the machine was slow: then the grant's times are set again.
        assertThat(counting.sql()).hasSizeBetween(2, 3);
        assertThat(counting.commits()).isEqualTo(1);
    }

    /** The row says nothing of the extension, so a process holds the lock for that time. */
    @Test
    void aClosedServiceEndsWhatAnExtensionAddedToTheTimeThatTheLockIsUnavailable() {
        Nodes.Node closing = nodes.open();
        LockProvider closed = HoldfastLockProvider.of(closing.locks());
        taken(closed).extend(LONG, LONG).orElseThrow().unlock();
        assertRefused(provider);
        closing.locks().close(Duration.ZERO);
        assertFree(provider);
    }
}
