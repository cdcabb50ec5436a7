package io.github.holdfast.service;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
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
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.LockUpgradeException;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.semaphore.SemaphoreRequest;
import io.github.holdfast.test.OnEachDatabase;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** An exclusive hold becomes a shared one, and nobody else has the lock exclusively in between. */
@OnEachDatabase
class DowngradeTest extends TwoServicesContract {

    private static final LockRequest ALONE = LockRequest.of("prices");
    private static final LockRequest SHARED = ALONE.shared().notReentrant();
    private static final int WRITERS = 20;

    @AfterEach
    void empty() {
        try {
            await("no holders are left").atMost(SOON).until(() -> holders() == 0);
        } finally {
            database.execute("delete from lock_holder", "delete from distributed_lock", "delete from lock_audit");
        }
    }

    private boolean isFree(LockService service, LockRequest request) throws Exception {
        return get(threads.submit(() -> {
            Optional<LockHandle> acquired = service.tryAcquire(request);
            acquired.ifPresent(LockHandle::close);
            return acquired.isPresent();
        }));
    }

    private void assertShared(LockHandle share) throws Exception {
        assertThat(share.mode()).isEqualTo(LockMode.SHARED);
        assertThat(share.state()).isEqualTo(LockState.HELD);
        assertThat(share.holdCount()).isEqualTo(1);
        assertThat(isFree(theirs, SHARED)).isTrue();
        assertThat(isFree(mine, SHARED)).isTrue();
        assertThat(isFree(theirs, ALONE)).isFalse();
        assertThat(isFree(mine, ALONE)).isFalse();
        share.ensureValidFor(ZERO);
    }

    private static void assertAlone(LockHandle alone) {
        assertThat(alone.mode()).isEqualTo(LockMode.EXCLUSIVE);
        assertThat(alone.state()).isEqualTo(LockState.HELD);
        alone.ensureValidFor(ZERO);
    }

    private void force() {
        assertThat(theirs.admin().forceRelease(ALONE.name(), "to test")).isPresent();
    }

    private static void assertRefused(LockHandle handle, String why) {
        assertThatIllegalStateException().isThrownBy(handle::downgrade).withMessageContaining(why);
    }

    @Test
    void othersShareTheLockButNobodyHasItAlone() throws Exception {
        for (LockRequest request : List.of(ALONE, ALONE.lease(ofMinutes(1)), ALONE.fair(), ALONE.notReentrant())) {
            LockHandle alone = mine.acquire(request);
            LockHandle share = alone.downgrade();
            assertThat(share.fencingToken()).isEqualTo(alone.fencingToken() + 1);
            assertThat(share.remaining()).isGreaterThan(request.lease().isPresent() ? ofSeconds(30) : ZERO);
            assertThat(alone.state()).isEqualTo(LockState.RELEASED);
            assertThat(alone.release()).isEqualTo(ReleaseOutcome.RELEASED);
            assertShared(share);
            assertThat(share.release()).isEqualTo(ReleaseOutcome.RELEASED);
            assertThat(isFree(theirs, ALONE)).isTrue();
        }
    }

    @Test
    void aLongerLeaseIsKept() {
        LockHandle alone = mine.tryAcquire(ALONE.lease(ofMinutes(1))).orElseThrow();
        alone.renew(ofMinutes(30));
        try (LockHandle share = alone.downgrade()) {
            assertThat(share.remaining()).isBetween(ofMinutes(29), ofMinutes(31));
        }
    }

    @Test
    void theShareOfAThreadIsReenteredJoinedAndNotUpgraded() throws Exception {
        LockHandle share = mine.tryAcquire(ALONE).orElseThrow().downgrade();
        LockHandle nested = mine.tryAcquire(ALONE.shared()).orElseThrow();
        LockHandle joined = get(threads.submit(
                () -> mine.tryAcquire(ALONE.shared()).orElseThrow().detach()));
        assertThat(List.of(nested.fencingToken(), joined.fencingToken())).containsOnly(share.fencingToken());
        assertThat(share.holdCount()).isEqualTo(2);
        assertThat(holders()).isEqualTo(1);
        assertThatExceptionOfType(LockUpgradeException.class).isThrownBy(() -> mine.tryAcquire(ALONE));
        nested.close();
        share.close();
        assertThat(isFree(theirs, ALONE)).isFalse();
        joined.close();
        assertThat(isFree(theirs, ALONE)).isTrue();
    }

    @Test
    void anotherThreadDowngradesAndHasTheShare() throws Exception {
        LockHandle alone = mine.tryAcquire(ALONE).orElseThrow().detach();
        Future<LockHandle> other = threads.submit(() -> {
            LockHandle share = alone.downgrade();
            mine.tryAcquire(ALONE.shared()).orElseThrow().close();
            assertThat(share.holdCount()).isEqualTo(1);
            return share.detach();
        });
        assertShared(get(other));
        get(other).close();
    }

    // Those who wait

    @Test
    void thoseWhoWaitToShareGetItAtOnceAndThoseWhoWantItAloneAfterTheLastShare() throws Exception {
        LockHandle alone = mine.tryAcquire(ALONE).orElseThrow();
        List<Future<LockHandle>> readers = new ArrayList<>();
        for (LockService service : List.of(mine, theirs)) {
            readers.add(threads.submit(
                    () -> service.acquire(SHARED.waitAtMost(SOON)).detach()));
            awaitWaiting(service, 1);
        }
        LockHandle share = alone.downgrade();
        List<Future<Long>> writers = new ArrayList<>();
        for (LockService service : List.of(mine, theirs)) {
            get(readers.get(writers.size())).close();
            writers.add(threads.submit(() -> {
                try (LockHandle later = service.acquire(ALONE.waitAtMost(SOON))) {
                    return later.fencingToken();
                }
            }));
            awaitWaiting(service, 1);
        }
        assertThat(writers).noneMatch(Future::isDone);
        share.close();
        for (Future<Long> writer : writers) {
            assertThat(get(writer)).isGreaterThan(share.fencingToken());
        }
    }

    @Test
    void aThreadThatExpectsTheLockFromItsHolderFindsAnotherWay() throws Exception {
        LockHandle alone = mine.tryAcquire(ALONE).orElseThrow();
        Future<LockHandle> writer =
                threads.submit(() -> mine.acquire(ALONE.waitAtMost(SOON)).detach());
        awaitWaiting(mine, 1);
        try (LockHandle share = alone.downgrade()) {
            assertThat(writer).isNotDone();
            share.ensureValidFor(ZERO);
        }
        get(writer).close();
    }

    /** Twenty that attack get nothing between the two holds: the tokens follow one another. They get nothing beside the share either. */
    @Test
    void noWriterComesInBetween() throws Exception {
        AtomicBoolean isOver = new AtomicBoolean();
        AtomicInteger writing = new AtomicInteger();
        AtomicInteger written = new AtomicInteger();
        AtomicInteger refused = new AtomicInteger();
        List<Future<Integer>> writers = new ArrayList<>();
        for (int writer = 0; writer < WRITERS; writer++) {
            LockService service = writer % 2 == 0 ? mine : theirs;
            LockRequest request = ALONE.lease(ofMinutes(1));
            writers.add(threads.submit(() -> {
                while (!isOver.get()) {
                    try (LockHandle alone = service.acquire(request.waitAtMost(ofMillis(500)))) {
                        writing.incrementAndGet();
                        written.incrementAndGet();
                        alone.ensureValidFor(ZERO);
                        writing.decrementAndGet();
                    } catch (LockNotAcquiredException waited) {
                        refused.incrementAndGet();
                    } catch (LockStoreException busy) {
                        FairTest.assertBusy(busy);
                    }
                }
                return writing.get();
            }));
        }
        try {
            for (int round = 0; round < 25; round++) {
                LockRequest request = round % 2 == 0 ? ALONE : ALONE.lease(ofMinutes(1));
                LockHandle alone = (round % 3 == 0 ? theirs : mine).acquire(request.waitAtMost(SOON));
                assertThat(writing).hasValue(0);
                LockHandle share = alone.downgrade();
                assertThat(writing).hasValue(0);
                assertThat(share.fencingToken()).isEqualTo(alone.fencingToken() + 1);
                assertThat(theirs.find(ALONE.name()).orElseThrow().fencingToken())
                        .isEqualTo(share.fencingToken());
                share.ensureValidFor(ZERO);
                assertThat(writing).hasValue(0);
                assertThat(share.release()).isEqualTo(ReleaseOutcome.RELEASED);
            }
        } finally {
            isOver.set(true);
        }
        for (Future<Integer> writer : writers) {
            get(writer);
        }
        assertThat(written).hasPositiveValue();
        System.out.printf("%d writers: %s grants, %s refusals%n", WRITERS, written, refused);
    }

    // Transactions

    @Test
    void whatWasWrittenIsThereBeforeOthersShareIt() throws Exception {
        try (LockHandle alone = mine.tryAcquire(ALONE).orElseThrow()) {
            books.inTransaction(em -> {
                Ledger.post(em, alone.fencingToken(), () -> {});
                assertRefused(alone, "a transaction under it has not ended");
            });
            assertAlone(alone);
            assertThat(isFree(theirs, SHARED)).isFalse();
            try (LockHandle share = alone.downgrade()) {
                books.inTransaction(em -> assertThat(Ledger.read(em)).isNotNull());
                assertShared(share);
            }
        }
        assertThat(ledger.faults(1)).isEmpty();
    }

    /** It may have read what was before the lock. */
    @Test
    void aThreadInATransactionDowngradesNothing() throws Exception {
        LockHandle alone = mine.tryAcquire(ALONE).orElseThrow().detach();
        get(threads.submit(
                () -> books.inTransaction(em -> assertRefused(alone, "a transaction under it has not ended"))));
        assertAlone(alone);
        try (LockHandle share = alone.downgrade()) {
            assertShared(share);
        }
    }

    @Test
    void transactionsUnderTheShareAreFenced() {
        LockHandle share = mine.tryAcquire(ALONE).orElseThrow().downgrade();
        assertThat(share.isFenced()).isTrue();
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> books.inTransaction(em -> {
                    Ledger.post(em, share.fencingToken(), () -> {});
                    force();
                }));
        assertThat(share.release()).isEqualTo(ReleaseOutcome.LOST);
        assertThat(ledger.entries()).isEmpty();
        database.execute("delete from lock_holder");
    }

    @Test
    void aShareWithoutAFenceStaysWithoutOne() {
        try (LockHandle share =
                mine.tryAcquire(ALONE.withoutFence()).orElseThrow().downgrade()) {
            assertThat(share.isFenced()).isFalse();
        }
    }

    // What is refused

    @Test
    void nestedHoldsAreReleasedFirst() throws Exception {
        LockHandle outer = mine.tryAcquire(ALONE).orElseThrow();
        LockHandle inner = mine.tryAcquire(ALONE.shared()).orElseThrow();
        assertRefused(outer, "it is held 2 times");
        assertRefused(inner, "it is held 2 times");
        outer.close();
        assertAlone(inner);
        try (LockHandle share = inner.downgrade()) {
            assertShared(share);
        }
    }

    @Test
    void aHoldThatOthersMayHaveOrMustWaitForIsNotDowngraded() {
        try (LockHandle chosen = mine.tryAcquire(ALONE.owner("me")).orElseThrow()) {
            assertRefused(chosen, "has chosen the owner");
            assertAlone(chosen);
        }
        try (LockHandle minimum =
                mine.tryAcquire(ALONE.minimumHold(ofMillis(1))).orElseThrow()) {
            assertRefused(minimum, "minimum hold");
            assertAlone(minimum);
        }
    }

    @Test
    void onlyAnExclusiveHoldIsDowngraded() throws Exception {
        try (LockHandle share = mine.tryAcquire(SHARED).orElseThrow()) {
            assertRefused(share, "is not held exclusively");
        }
        try (LockHandle permits = mine.semaphore(SemaphoreRequest.of("exports").limit(2))
                .tryAcquire()
                .orElseThrow()) {
            assertRefused(permits, "is not held exclusively");
        }
        try (LockHandle row = mine.tryAcquire(ALONE.rowLock()).orElseThrow()) {
            assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(row::downgrade);
        }
        LockHandle released = mine.acquire(ALONE.waitAtMost(SOON));
        released.close();
        assertRefused(released, "was released");
    }

    // Losses

    @Test
    void aLostLockIsNotShared() throws Exception {
        for (LockRequest request : List.of(ALONE, ALONE.lease(ofMinutes(1)))) {
            LockHandle alone = mine.acquire(request);
            force();
            AtomicReference<LossCause> told = new AtomicReference<>();
            alone.onLost(lost -> told.set(lost.cause()));
            assertThatExceptionOfType(LockLostException.class).isThrownBy(alone::downgrade);
            assertThat(alone.release()).isEqualTo(ReleaseOutcome.LOST);
            await().atMost(SOON).until(() -> told.get() == LossCause.FORCED);
            assertThat(holders()).isZero();
            database.execute("delete from distributed_lock");
        }
    }

    @Test
    void aLeaseThatIsOverIsNotShared() {
        LockHandle alone = mine.tryAcquire(ALONE.lease(ofMinutes(1))).orElseThrow();
        database.execute("update distributed_lock set expires_at = acquired_at where name = '" + ALONE.name() + "'");
        assertThatExceptionOfType(LockLostException.class).isThrownBy(alone::downgrade);
        assertThat(holders()).isZero();
    }

    @Test
    void anEndedNodeSharesNothing() {
        LockHandle alone = mine.tryAcquire(ALONE).orElseThrow();
        database.execute("update lock_node set ended = true");
        try {
            assertThatExceptionOfType(LockLostException.class).isThrownBy(alone::downgrade);
            assertThat(holders()).isZero();
        } finally {
            database.execute("update lock_node set ended = false");
        }
    }

    @Test
    void theShareOfADeadNodeIsRemoved() throws Exception {
        LockHandle share = mine.acquire(ALONE.waitAtMost(SOON)).downgrade();
        database.execute("update lock_holder set node_id = 'dead'");
        try (LockHandle alone = theirs.acquire(ALONE.waitAtMost(SOON))) {
            assertThat(alone.fencingToken()).isGreaterThan(share.fencingToken());
            assertThat(share.release()).isEqualTo(ReleaseOutcome.LOST);
        }
    }
}
