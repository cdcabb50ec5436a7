package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.ReleaseOutcome;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** What a user of {@link LockService} relies on, between two services on one database. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class LockServiceContract {

    private static final Duration LONG = ofSeconds(30);

    private final String name = "contract";

    /** Set by the constructor of the leaf. */
    @SuppressWarnings("NullAway.Init")
    TestServices services;

    private LockService mine;
    private LockService theirs;

    @BeforeAll
    void open() {
        mine = services.open();
        theirs = services.open();
    }

    @AfterAll
    void close() throws Exception {
        services.close();
    }

    private static LockRequest request(String name) {
        return LockRequest.of(name).lease(LONG);
    }

    private static String unique() {
        return "lock " + UUID.randomUUID();
    }

    private static <T> T inAnotherThread(java.util.concurrent.Callable<T> work) throws Exception {
        FutureTask<T> task = new FutureTask<>(work);
        new Thread(task, "another").start();
        try {
            return task.get(60, TimeUnit.SECONDS);
        } catch (ExecutionException thrown) {
            throw (Exception) thrown.getCause();
        }
    }

    private int holdCount(String name) {
        for (int count = 0; count < 10; count++) {
            if (services.tables().count("HoldfastLock", Map.of("name", name, "holdCount", count)) == 1) {
                return count;
            }
        }
        throw new AssertionError("No row, or held too often: " + name);
    }

    /** Acquires for a short time, and waits until that is over. */
    private LockHandle overdue(LockService service, LockRequest request) throws InterruptedException {
        LockHandle lock = Services.acquireBriefly(service, request);
        services.awaitOver(lock);
        return lock;
    }

    // Acquire and release

    @Test
    void aFreeLockIsAcquiredAndAHeldOneIsNot() {
        String name = unique();
        try (LockHandle lock = mine.tryAcquire(request(name)).orElseThrow()) {
            assertThat(lock.name()).isEqualTo(name);
            assertThat(lock.state()).isEqualTo(LockState.HELD);
            assertThat(lock.remaining()).isBetween(LONG.minusSeconds(10), LONG);
            assertThat(theirs.tryAcquire(request(name))).isEmpty();
        }
        assertThat(theirs.tryAcquire(request(name))).isPresent().get().satisfies(LockHandle::close);
    }

    @Test
    void acquireWaitsUntilTheHolderReleases() throws Exception {
        LockRequest request = request(unique());
        LockHandle first = mine.acquire(request);
        CompletableFuture<LockHandle> second = CompletableFuture.supplyAsync(() -> acquired(theirs, request));
        await().during(ofMillis(200)).atMost(LONG).until(() -> !second.isDone());
        assertThat(first.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(second.get(60, TimeUnit.SECONDS).release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    private static LockHandle acquired(LockService service, LockRequest request) {
        try {
            return service.acquire(request);
        } catch (InterruptedException thrown) {
            throw new AssertionError(thrown);
        }
    }

    @Test
    void acquireGivesUpAtTheEndOfTheWaitTimeAndSaysWhoHoldsTheLock() throws Exception {
        LockRequest request = request(unique());
        try (LockHandle held = mine.acquire(request)) {
            long start = services.nanoTime();
            assertThatExceptionOfType(LockNotAcquiredException.class)
                    .isThrownBy(() -> theirs.acquire(request.waitAtMost(ofMillis(300))))
                    .satisfies(refused -> {
                        assertThat(refused.lockName()).contains(request.name());
                        assertThat(refused.waited()).isGreaterThanOrEqualTo(ofMillis(300));
                        assertThat(refused.holder())
                                .hasValueSatisfying(holder -> assertThat(holder)
                                        .contains(String.valueOf(
                                                ProcessHandle.current().pid())));
                        assertThat(refused.expiresIn())
                                .hasValueSatisfying(left -> assertThat(left).isBetween(ofSeconds(10), LONG));
                        assertThat(refused).hasMessageContaining(request.name());
                    });
            assertThat(Duration.ofNanos(services.nanoTime() - start)).isGreaterThanOrEqualTo(ofMillis(300));
            assertThat(held.state()).isEqualTo(LockState.HELD);
        }
    }

    @Test
    void aWaitTimeOfZeroDecidesOnce() throws Exception {
        LockRequest request = request(unique()).waitAtMost(Duration.ZERO);
        try (LockHandle ignored = mine.acquire(request)) {
            assertThatThrownBy(() -> theirs.acquire(request)).isInstanceOf(LockNotAcquiredException.class);
        }
    }

    @Test
    void releasingTwiceAnswersAsTheFirstTimeAndDoesNotTouchTheNextHolder() throws Exception {
        LockRequest request = request(unique());
        LockHandle first = mine.acquire(request);
        assertThat(first.release()).isEqualTo(ReleaseOutcome.RELEASED);
        try (LockHandle second = theirs.acquire(request)) {
            assertThat(first.release()).isEqualTo(ReleaseOutcome.RELEASED);
            first.close();
            assertThat(first.state()).isEqualTo(LockState.RELEASED);
            assertThat(first.remaining()).isZero();
            assertThat(mine.tryAcquire(request)).isEmpty();
            assertThat(second.state()).isEqualTo(LockState.HELD);
        }
        assertThatThrownBy(() -> first.renew(LONG)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void anotherThreadMayReleaseAHandle() throws Exception {
        LockRequest request = request(unique());
        LockHandle lock = mine.acquire(request);
        assertThat(inAnotherThread(lock::release)).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(theirs.tryAcquire(request)).isPresent().get().satisfies(LockHandle::close);
    }

    // Lease, takeover, loss

    @Test
    void anExpiredLockIsTakenOverAndTheFormerHolderCanNeitherRenewNorRelease() throws Exception {
        LockRequest request = LockRequest.of(unique());
        LockHandle stale = overdue(mine, request);
        try (LockHandle taken = theirs.acquire(request.lease(LONG))) {
            assertThat(stale.state()).isEqualTo(LockState.LOST);
            assertThat(stale.remaining()).isZero();
            assertThatThrownBy(() -> stale.renew(LONG))
                    .isInstanceOf(LockLostException.class)
                    .hasMessageContaining(request.name());
            assertThatThrownBy(() -> stale.ensureValidFor(ofMillis(1))).isInstanceOf(LockLostException.class);
            assertThat(stale.release()).isEqualTo(ReleaseOutcome.LOST);
            assertThat(taken.state()).isEqualTo(LockState.HELD);
            assertThat(taken.fencingToken()).isGreaterThan(stale.fencingToken());
            assertThat(mine.find(request.name())).map(LockInfo::owner).contains(taken.owner());
        }
    }

    @Test
    void theDatabaseTellsAHolderThatItsRowWasTakenBeforeItsOwnClockDoes() throws Exception {
        LockRequest request = request(unique());
        LockHandle lock = mine.acquire(request);
        services.tables()
                .update(
                        "HoldfastLock",
                        Map.of(
                                "owner",
                                "thief",
                                "fencingToken",
                                lock.fencingToken() + 1,
                                "version",
                                Long.MAX_VALUE / 2),
                        Map.of("name", request.name()));
        assertThat(lock.state()).isEqualTo(LockState.HELD);
        assertThatThrownBy(() -> lock.renew(LONG)).isInstanceOf(LockLostException.class);
        assertThat(lock.state()).isEqualTo(LockState.LOST);
        assertThatThrownBy(lock::close).isInstanceOf(LockLostException.class);
        assertThat(lock.state()).isEqualTo(LockState.RELEASED);
        assertThat(mine.find(request.name())).map(LockInfo::owner).contains("thief");
    }

    @Test
    void closingALostLockThrowsOnceAndFreesARowThatNobodyTook() throws Exception {
        LockRequest request = LockRequest.of(unique());
        LockHandle lock = overdue(mine, request);
        assertThatThrownBy(lock::close).isInstanceOf(LockLostException.class);
        lock.close();
        assertThat(holdCount(request.name())).isZero();
    }

    @Test
    void renewLengthensTheLeaseAndNeverShortensIt() throws Exception {
        LockRequest request = LockRequest.of(unique()).lease(ofSeconds(20));
        try (LockHandle lock = mine.acquire(request)) {
            lock.renew(ofSeconds(1));
            assertThat(lock.remaining()).isGreaterThan(ofSeconds(10));
            assertThat(expiresIn(request.name())).isGreaterThan(ofSeconds(10));
            lock.renew(ofSeconds(100));
            assertThat(lock.remaining()).isBetween(ofSeconds(90), ofSeconds(100));
            assertThat(expiresIn(request.name())).isBetween(ofSeconds(90), ofSeconds(100));
        }
    }

    private Duration expiresIn(String name) {
        return Objects.requireNonNull(theirs.find(name).orElseThrow().expiresIn());
    }

    @Test
    void ensureValidForRenewsOnlyWhenItMust() throws Exception {
        LockRequest request = LockRequest.of(unique()).lease(ofSeconds(10));
        try (LockHandle lock = mine.acquire(request)) {
            lock.ensureValidFor(ofSeconds(1));
            assertThat(expiresIn(request.name())).isLessThanOrEqualTo(ofSeconds(10));
            lock.ensureValidFor(ofMinutes(1));
            assertThat(lock.remaining()).isGreaterThanOrEqualTo(ofSeconds(59));
            assertThat(expiresIn(request.name())).isGreaterThanOrEqualTo(ofSeconds(59));
        }
    }

    @Test
    void aRenewedLockIsNotTakenOver() throws Exception {
        LockRequest request = LockRequest.of(unique()).lease(ofSeconds(60));
        try (LockHandle lock = mine.acquire(request)) {
            for (int round = 0; round < 3; round++) {
                // As if most of the lease were over, by the clock of the database.
                services.tables()
                        .update(
                                "HoldfastLock",
                                Map.of("expiresAt", mine.admin().databaseClock().plusSeconds(20)),
                                Map.of("name", request.name()));
                lock.renew(ofSeconds(60));
                assertThat(expiresIn(request.name())).isGreaterThan(ofSeconds(40));
                assertThat(theirs.tryAcquire(request)).isEmpty();
            }
            assertThat(lock.state()).isEqualTo(LockState.HELD);
        }
    }

    @Test
    void aLockThatIsNotAvailableYetIsNotSaidToBeHeld() throws Exception {
        LockRequest request = request(unique()).minimumHold(LONG);
        mine.acquire(request).close();
        assertThatExceptionOfType(LockNotAcquiredException.class)
                .isThrownBy(() -> theirs.acquire(request.waitAtMost(Duration.ZERO)))
                .satisfies(refused -> {
                    assertThat(refused.holder()).isEmpty();
                    assertThat(refused.expiresIn()).isEmpty();
                    assertThat(refused).hasMessageMatching(".* it stays unavailable for another \\d.*");
                });
    }

    @Test
    void aThreadMayHaveAnyName() throws Exception {
        Thread thread = Thread.currentThread();
        String before = thread.getName();
        thread.setName("\0 \ud83d " + "x".repeat(300));
        try (LockHandle lock = mine.acquire(request(unique()))) {
            assertThat(mine.find(lock.name()).orElseThrow().holder()).contains("? ? xxx");
        } finally {
            thread.setName(before);
        }
    }

    @Test
    void aMinimumHoldOutlastsTheRelease() throws Exception {
        LockRequest request = request(unique()).minimumHold(ofSeconds(3));
        Instant start = mine.admin().databaseClock();
        mine.acquire(request).close();
        assertThat(theirs.tryAcquire(request)).isEmpty();
        theirs.acquire(request).close();
        assertThat(mine.admin().databaseClock()).isAfterOrEqualTo(start.plusSeconds(3));
    }

    @Test
    void theLongestLeaseAndMinimumHoldFitIn() throws Exception {
        LockRequest request =
                LockRequest.of(unique()).lease(LockRequest.LONGEST_DURATION).minimumHold(LockRequest.LONGEST_DURATION);
        try (LockHandle lock = mine.acquire(request)) {
            assertThat(expiresIn(request.name())).isGreaterThan(LockRequest.LONGEST_DURATION.minusMinutes(1));
            assertThat(lock.remaining()).isGreaterThan(Duration.ofDays(364));
        }
        assertThat(theirs.tryAcquire(request)).isEmpty();
    }

    // Fencing tokens

    @Test
    void tokensGrowAcrossReleaseTakeoverAndPurge() throws Exception {
        LockRequest request = request(unique());
        LockHandle first = mine.acquire(request);
        first.close();
        LockHandle second = overdue(theirs, request);
        LockHandle third = mine.acquire(request);
        third.close();
        services.tables().delete("HoldfastLock", Map.of("name", request.name()));
        LockHandle fourth = theirs.acquire(request);
        fourth.close();
        assertThat(List.of(first.fencingToken(), second.fencingToken(), third.fencingToken(), fourth.fencingToken()))
                .doesNotHaveDuplicates()
                .isSorted();
    }

    @Test
    void aHandleOfAPurgedRowTouchesNeitherTheNewRowNorItsHolder() throws Exception {
        LockRequest request = request(unique());
        LockHandle old = mine.acquire(request);
        services.tables().delete("HoldfastLock", Map.of("name", request.name()));
        try (LockHandle current = theirs.acquire(request)) {
            assertThatThrownBy(() -> old.renew(LONG)).isInstanceOf(LockLostException.class);
            assertThat(old.release()).isEqualTo(ReleaseOutcome.LOST);
            assertThat(mine.find(request.name())).map(LockInfo::owner).contains(current.owner());
            assertThat(holdCount(request.name())).isEqualTo(1);
        }
    }

    // Re-entry

    @Test
    void theHoldingThreadReentersAndTheCountIsInTheDatabase() throws Exception {
        LockRequest request = request(unique());
        LockHandle outer = mine.acquire(request);
        LockHandle inner = mine.acquire(request);
        assertThat(inner.owner()).isEqualTo(outer.owner());
        assertThat(inner.fencingToken()).isEqualTo(outer.fencingToken());
        assertThat(holdCount(request.name())).isEqualTo(2);
        assertThat(outer.holdCount()).isEqualTo(2);
        assertThat(outer.release()).isEqualTo(ReleaseOutcome.STILL_HELD);
        assertThat(holdCount(request.name())).isEqualTo(1);
        assertThat(theirs.tryAcquire(request)).isEmpty();
        assertThat(inner.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(holdCount(request.name())).isZero();
    }

    @Test
    void anotherThreadDoesNotReenter() throws Exception {
        LockRequest request = request(unique());
        try (LockHandle ignored = mine.acquire(request)) {
            assertThat(inAnotherThread(() -> mine.tryAcquire(request))).isEmpty();
        }
    }

    @Test
    void aDetachedHoldIsNotReentered() throws Exception {
        LockRequest request = request(unique());
        try (LockHandle lock = mine.acquire(request).detach()) {
            assertThat(mine.tryAcquire(request)).isEmpty();
            assertThat(lock.state()).isEqualTo(LockState.HELD);
        }
    }

    @Test
    void aRequestThatIsNotReentrantIsRefusedToTheHolderToo() throws Exception {
        LockRequest request = request(unique());
        try (LockHandle ignored = mine.acquire(request)) {
            assertThat(mine.tryAcquire(request.notReentrant())).isEmpty();
            assertThat(mine.tryAcquire(request.owner("chosen"))).isEmpty();
        }
        try (LockHandle ignored = mine.acquire(request.notReentrant())) {
            assertThat(mine.tryAcquire(request)).isEmpty();
        }
    }

    @Test
    void reentryNeverShortensTheLease() throws Exception {
        LockRequest request = request(unique());
        try (LockHandle outer = mine.acquire(request)) {
            mine.acquire(request.lease(ofMillis(1))).release();
            assertThat(outer.remaining()).isGreaterThan(ofSeconds(10));
            assertThat(expiresIn(request.name())).isGreaterThan(ofSeconds(10));
            mine.acquire(request.lease(ofMinutes(5))).release();
            assertThat(outer.remaining()).isGreaterThan(ofMinutes(4));
        }
    }

    @Test
    void aLostHoldIsNotReenteredButTheLockIsAcquiredAnew() throws Exception {
        LockRequest request = LockRequest.of(unique());
        LockHandle lost = overdue(mine, request);
        try (LockHandle fresh = mine.acquire(request.lease(LONG))) {
            assertThat(fresh.owner()).isNotEqualTo(lost.owner());
            assertThat(fresh.fencingToken()).isGreaterThan(lost.fencingToken());
            assertThat(lost.release()).isEqualTo(ReleaseOutcome.LOST);
            assertThat(fresh.state()).isEqualTo(LockState.HELD);
            try (LockHandle nested = mine.acquire(request.lease(LONG))) {
                assertThat(nested.owner()).isEqualTo(fresh.owner());
            }
        }
    }

    @Test
    void aChosenOwnerReentersFromAnyThreadAndAnyService() throws Exception {
        LockRequest request = request(unique()).owner("checkout-42");
        LockHandle first = mine.acquire(request);
        LockHandle second = inAnotherThread(() -> mine.acquire(request));
        LockHandle third = theirs.acquire(request);
        assertThat(third.holdCount()).isEqualTo(3);
        assertThat(third.fencingToken()).isEqualTo(first.fencingToken());
        assertThat(theirs.tryAcquire(request.owner("checkout-43"))).isEmpty();
        assertThat(theirs.tryAcquire(request.notReentrant())).isEmpty();
        assertThat(first.release()).isEqualTo(ReleaseOutcome.STILL_HELD);
        assertThat(third.release()).isEqualTo(ReleaseOutcome.STILL_HELD);
        second.renew(LONG);
        assertThat(holdCount(request.name())).isEqualTo(1);
        assertThat(second.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    @Test
    void aChosenOwnerWhoseLeaseIsOverGetsANewGrant() throws Exception {
        LockRequest request = LockRequest.of(unique()).owner("checkout-42");
        LockHandle old = overdue(mine, request);
        await().until(() -> mine.find(request.name()).isEmpty());
        try (LockHandle fresh = theirs.acquire(request.lease(LONG))) {
            assertThat(fresh.holdCount()).isEqualTo(1);
            assertThat(fresh.fencingToken()).isGreaterThan(old.fencingToken());
            assertThat(old.release()).isEqualTo(ReleaseOutcome.LOST);
            assertThat(holdCount(request.name())).isEqualTo(1);
        }
    }

    // Loss that is final

    @Test
    void aLostLockIsNeverValidEvenForNoTime() throws Exception {
        LockHandle lock = overdue(mine, LockRequest.of(unique()));
        assertThatThrownBy(() -> lock.ensureValidFor(Duration.ZERO)).isInstanceOf(LockLostException.class);
        lock.release();
    }

    // Names

    @Test
    void namesThatDifferInOneByteAreDifferentLocks() throws Exception {
        List<String> names = List.of(
                "Caf\u00e9 a b",
                "caf\u00e9 a b",
                "cafe a b",
                "cafe\u0301 a b",
                "caf\u00e9 a  b",
                "caf\u00e9 a\u200b b",
                "caf\u00e9 a\u00a0b",
                "stra\u00dfe",
                "strasse",
                "\ud83d\udd12",
                "\ud83d\udd13",
                "x".repeat(255));
        List<LockHandle> held = names.stream()
                .map(each -> mine.tryAcquire(request(each)).orElseThrow())
                .toList();
        for (String each : names) {
            assertThat(theirs.tryAcquire(request(each))).as(each).isEmpty();
        }
        held.forEach(LockHandle::close);
    }

    // find, call, run

    @Test
    void findTellsWhoHoldsTheLock() throws Exception {
        LockRequest request = request(unique());
        assertThat(theirs.find(request.name())).isEmpty();
        try (LockHandle lock = mine.acquire(request)) {
            LockInfo info = theirs.find(request.name()).orElseThrow();
            assertThat(info.name()).isEqualTo(lock.name());
            assertThat(info.owner()).isEqualTo(lock.owner());
            assertThat(info.fencingToken()).isEqualTo(lock.fencingToken());
            assertThat(info.holdCount()).isEqualTo(1);
            assertThat(info.holder()).contains(Thread.currentThread().getName());
            assertThat(info.expiresIn()).isBetween(ofSeconds(1), LONG);
            assertThat(info.acquiredAt())
                    .isBetween(
                            theirs.admin().databaseClock().minusSeconds(60),
                            theirs.admin().databaseClock().plusSeconds(60));
        }
        assertThat(theirs.find(request.name())).isEmpty();
    }

    @Test
    void callReleasesAndPassesOnWhatTheTaskReturnsOrThrows() throws Exception {
        LockRequest request = request(unique());
        assertThat(mine.<Long, RuntimeException>call(request, LockHandle::fencingToken))
                .isPositive();
        assertThatThrownBy(() -> mine.run(request, lock -> {
                    throw new java.io.IOException("the task's own");
                }))
                .isInstanceOf(java.io.IOException.class);
        assertThat(mine.find(request.name())).isEmpty();
    }

    @Test
    void aLossNeverMasksWhatTheTaskThrows() {
        LockRequest request = LockRequest.of(unique()).lease(ofSeconds(2));
        assertThatThrownBy(() -> mine.run(request, lock -> {
                    services.awaitOver(lock);
                    throw new java.io.IOException("the task's own");
                }))
                .isInstanceOf(java.io.IOException.class)
                .satisfies(thrown ->
                        assertThat(thrown.getSuppressed()).hasAtLeastOneElementOfType(LockLostException.class));
        assertThatThrownBy(() -> mine.run(request, lock -> services.awaitOver(lock)))
                .isInstanceOf(LockLostException.class);
    }

    // Bad requests

    @Test
    void requestsThatMakeNoSenseAreRefused() {
        assertThatThrownBy(() -> mine.tryAcquire(request(name).waitAtMost(ofSeconds(1))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("wait");
        assertThatThrownBy(() -> mine.find(" ")).isInstanceOf(IllegalArgumentException.class);
    }

    // Interrupts

    @Test
    void anInterruptEndsTheWaitAndLeavesNothingHeld() throws Exception {
        LockRequest request = request(unique());
        LockHandle held = mine.acquire(request);
        CountDownLatch started = new CountDownLatch(1);
        FutureTask<Boolean> waiter = new FutureTask<>(() -> {
            started.countDown();
            assertThatThrownBy(() -> theirs.acquire(request.waitForever())).isInstanceOf(InterruptedException.class);
            return Thread.currentThread().isInterrupted();
        });
        Thread thread = new Thread(waiter);
        thread.start();
        started.await();
        await().pollDelay(ofMillis(100)).until(() -> thread.getState() == Thread.State.TIMED_WAITING);
        thread.interrupt();
        assertThat(waiter.get(60, TimeUnit.SECONDS))
                .as("flag after InterruptedException")
                .isFalse();
        held.close();
        assertThat(mine.find(request.name())).isEmpty();
    }

    @Test
    void anInterruptedThreadDoesNotAcquireButTriesAndReleases() throws Exception {
        LockRequest request = request(unique());
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> mine.acquire(request)).isInstanceOf(InterruptedException.class);
        assertThat(Thread.currentThread().isInterrupted()).isFalse();

        Thread.currentThread().interrupt();
        Optional<LockHandle> lock = mine.tryAcquire(request);
        assertThat(Thread.currentThread().isInterrupted()).isTrue();
        lock.orElseThrow().renew(LONG);
        assertThat(lock.orElseThrow().release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(Thread.interrupted()).isTrue();
    }

    // Closing the service

    @Test
    void closingTheServiceFreesItsLocksAndTellsItsHoldersAndWaiters() throws Exception {
        LockRequest request = request(unique());
        LockService closing = services.open();
        LockHandle lock = closing.acquire(request);
        LockHandle other = mine.acquire(request(unique()));
        CompletableFuture<LockHandle> waiter = CompletableFuture.supplyAsync(
                () -> acquired(closing, request(other.name()).waitForever()));
        await().during(ofMillis(100)).until(() -> !waiter.isDone());
        closing.close();
        closing.close();
        assertThat(lock.state()).isEqualTo(LockState.LOST);
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.LOST);
        theirs.tryAcquire(request).orElseThrow().close();
        assertThatThrownBy(() -> closing.tryAcquire(request)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> waiter.get(60, TimeUnit.SECONDS)).hasCauseInstanceOf(IllegalStateException.class);
        other.close();
    }
}
