package io.github.holdfast.shedlock;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.shedlock.Nodes.Node;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.support.LockException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What users of ShedLock rely on, and what they get in addition. */
@OnEachDatabase
class LockProviderTest extends ProviderContract {

    private HoldfastLockProvider provider;
    private HoldfastLockProvider others;

    @BeforeEach
    void makeProviders() {
        provider = HoldfastLockProvider.of(one.locks());
        others = HoldfastLockProvider.of(other.locks());
    }

    @Test
    void aHeldLockIsRefusedWithoutAnErrorAndIsFreeAfterTheUnlock() {
        SimpleLock lock = taken(provider);
        assertRefused(others);
        assertRefused(provider);
        lock.unlock();
        assertFree(others);
        assertFree(provider);
    }

    @Test
    void aLockIsNotReentrant() {
        SimpleLock lock = taken(provider);
        assertRefused(provider);
        lock.unlock();
        assertFree(provider);
    }

    @Test
    void locksOfDifferentNamesAreIndependent() {
        SimpleLock lock = taken(provider);
        name += " 2";
        SimpleLock second = taken(provider);
        lock.unlock();
        assertRefused(others);
        second.unlock();
        assertFree(others);
    }

    @Test
    void aSecondUnlockIsAnError() {
        SimpleLock lock = taken(provider);
        lock.unlock();
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> lock.extend(LONG, ZERO)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void anotherThreadCanUnlock() {
        SimpleLock lock = taken(provider);
        inAnotherThread(lock::unlock);
        assertFree(others);
        assertFree(provider);
    }

    @Test
    void anUnlockedLockStaysUnavailableForAtLeastThatLong() {
        Duration atLeast = ofSeconds(5);
        long before = System.nanoTime();
        taken(provider, LONG, atLeast).unlock();
        assertRefused(provider);
        assertRefused(others);
        awaited(others).unlock();
        assertThat(since(before)).isGreaterThanOrEqualTo(atLeast);
    }

    @Test
    void aLockIsFreeAfterAtMostThatLongAndALateUnlockDoesNotTakeItFromTheNextHolder() {
        Duration atMost = ofSeconds(2);
        long before = System.nanoTime();
        SimpleLock expired = taken(provider, atMost, ZERO);
        SimpleLock next = awaited(others);
        assertThat(since(before)).isGreaterThanOrEqualTo(atMost);
        expired.unlock();
        assertRefused(provider);
        next.unlock();
        assertFree(provider);
    }

    @Test
    void anExtendedLockIsHeldLonger() {
        SimpleLock lock = taken(provider, ofSeconds(5), ZERO);
        SimpleLock extended = lock.extend(LONG, ZERO).orElseThrow();
        await().during(ofSeconds(6)).atMost(SOON).until(() -> lock(others).isEmpty());
        SimpleLock twice = extended.extend(LONG, ZERO).orElseThrow();
        twice.unlock();
        assertFree(others);
    }

    @Test
    void theLockBeforeAnExtensionIsInvalid() {
        SimpleLock lock = taken(provider);
        SimpleLock extended = lock.extend(LONG, ZERO).orElseThrow();
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> lock.extend(LONG, ZERO)).isInstanceOf(IllegalStateException.class);
        assertRefused(others);
        extended.unlock();
        assertFree(others);
    }

    @Test
    void anExpiredLockCannotBeExtended() {
        SimpleLock expired = taken(provider, ofSeconds(2), ZERO);
        SimpleLock next = awaited(others);
        assertThat(expired.extend(LONG, ZERO)).isEmpty();
        assertRefused(provider);
        next.unlock();
        assertFree(provider);
        // This thread has no lost lock any more.
        one.transaction().executeWithoutResult(status -> {});
    }

    @Test
    void aLockThatWasTakenByForceCannotBeExtended() {
        SimpleLock lock = taken(provider);
        assertThat(other.locks().admin().forceRelease(name, "test")).isPresent();
        assertThat(lock.extend(LONG, ZERO)).isEmpty();
    }

    @Test
    void anExtensionCanProlongTheTimeThatTheLockIsUnavailable() {
        Duration atLeast = ofSeconds(5);
        long before = System.nanoTime();
        taken(provider).extend(LONG, atLeast).orElseThrow().unlock();
        assertRefused(provider);
        awaited(others).unlock();
        assertThat(since(before)).isGreaterThanOrEqualTo(atLeast);
    }

    @Test
    void anExtensionDoesNotProlongThatTimeUnlessItSaysSo() {
        SimpleLock lock = taken(provider);
        SimpleLock extended = lock.extend(LONG, LONG).orElseThrow();
        extended.extend(LONG, ZERO).orElseThrow().unlock();
        assertFree(others);
    }

    @Test
    void whatTheGrantSaysOfThatTimeStays() {
        Duration atLeast = ofSeconds(5);
        long before = System.nanoTime();
        taken(provider, LONG, atLeast).extend(LONG, ZERO).orElseThrow().unlock();
        assertThat(other.locks().find(name)).as("held").isEmpty();
        awaited(others).unlock();
        assertThat(since(before)).isGreaterThanOrEqualTo(atLeast);
    }

    @Test
    void oneOfManyThreadsGetsTheLock() throws Exception {
        for (int round = 0; round < 10; round++) {
            List<Optional<SimpleLock>> locks = together(12, thread -> () -> lock(thread % 2 == 0 ? provider : others));
            assertThat(locks).filteredOn(Optional::isPresent).hasSize(1);
            locks.forEach(lock -> lock.ifPresent(SimpleLock::unlock));
        }
    }

    @Test
    void threadsOfBothServicesExcludeEachOther() throws Exception {
        assertThat(mostAtOnce(List.of(provider, others))).isEqualTo(1);
    }

    @Test
    void aFailureOfTheDatabaseIsAnErrorAndNotARefusal(Database database) {
        FaultyDataSource faults = new FaultyDataSource(database.dataSource());
        LockProvider faulty = HoldfastLockProvider.of(nodes.openOver(faults).locks());
        SimpleLock lock = taken(faulty);
        String held = name;
        newName();
        String refused = name;

        faults.down();
        assertThatThrownBy(() -> lock(faulty))
                .isInstanceOf(LockException.class)
                .hasMessageContaining(refused)
                .hasCauseInstanceOf(LockStoreException.class);
        assertThatThrownBy(() -> lock.extend(LONG, ZERO))
                .isInstanceOf(LockException.class)
                .hasMessageContaining(held)
                .hasCauseInstanceOf(LockStoreException.class);
        lock.unlock();
        faults.up();

        awaited(others).unlock();
        name = held;
        awaited(others).unlock();
    }

    @Test
    void aClosedServiceIsAnErrorAndNotARefusal() {
        Node closing = nodes.open();
        LockProvider closed = HoldfastLockProvider.of(closing.locks());
        closing.locks().close();
        assertThatThrownBy(() -> lock(closed)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void aLockThatIsKeptAliveIsHeldLongerThanAtMostFor() {
        HoldfastLockProvider keeping = provider.keepAlive();
        SimpleLock lock = taken(keeping, ofMillis(100), ZERO);
        await().during(ofSeconds(1)).atMost(SOON).until(() -> lock(others).isEmpty());
        SimpleLock extended = lock.extend(ofMillis(100), ZERO).orElseThrow();
        await().during(ofMillis(500)).atMost(SOON).until(() -> lock(others).isEmpty());
        extended.unlock();
        assertFree(others);
    }

    @Test
    void aLockThatIsKeptAliveStaysUnavailableForAtLeastThatLong() {
        Duration atLeast = ofSeconds(5);
        long before = System.nanoTime();
        taken(provider.keepAlive(), LONG, atLeast).unlock();
        assertRefused(others);
        awaited(others).unlock();
        assertThat(since(before)).isGreaterThanOrEqualTo(atLeast);
    }

    @Test
    void aTransactionAfterTheLossOfTheLockDoesNotCommit() {
        SimpleLock expired = taken(provider, ofSeconds(2), ZERO);
        SimpleLock next = awaited(others);
        assertThatThrownBy(() -> one.transaction().executeWithoutResult(status -> {}))
                .isInstanceOf(LockLostException.class);
        expired.unlock();
        one.transaction().executeWithoutResult(status -> {});
        next.unlock();
    }

    @Test
    void aDetachedLockDoesNotFenceTransactions() {
        SimpleLock expired = taken(provider.detached(), ofSeconds(2), ZERO);
        SimpleLock next = awaited(others);
        one.transaction().executeWithoutResult(status -> {});
        expired.unlock();
        next.unlock();

        one.transaction().executeWithoutResult(status -> {
            taken(provider.detached(), ofSeconds(2), ZERO).unlock();
            inAnotherThread(() -> awaited(others).unlock());
        });
    }

    @Test
    void anUnlockByAnotherThreadWaitsForTheTransactionOfTheFirstUnlessTheLockIsDetached() {
        SimpleLock lock = taken(provider);
        one.transaction().executeWithoutResult(status -> {
            inAnotherThread(lock::unlock);
            assertRefused(others);
        });
        awaited(others).unlock();
        SimpleLock detached = taken(provider.detached());
        one.transaction().executeWithoutResult(status -> {
            inAnotherThread(detached::unlock);
            inAnotherThread(() -> assertFree(others));
        });
    }

    private static void inAnotherThread(Runnable work) {
        CompletableFuture.runAsync(work).join();
    }
}
