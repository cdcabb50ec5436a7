package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.memory.InMemoryFaults;
import io.github.holdfast.repository.memory.InMemoryFaults.Unanswered;
import io.github.holdfast.repository.memory.InMemoryLockStore;
import io.github.holdfast.service.engine.FakeTicker;
import io.github.holdfast.service.engine.SteppedBackground;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** When a lock is kept, revived and given back, on the double of the store and by a clock that stands still. {@link KeptLockTest} is on databases. */
class InMemoryKeptLockTest {

    private static final Duration KEPT = ofMillis(50);
    private static final int BLOCK = 1000;
    private static final LockRequest REQUEST = LockRequest.of("job");

    private final FakeTicker ticker = new FakeTicker();
    private final SteppedBackground background = ticker.stepped();
    private InMemoryServices services;
    private InMemoryFaults faults;
    private LockService mine;
    private LockService theirs;

    @BeforeEach
    void open() {
        services = new InMemoryServices(ticker);
        InMemoryLockStore store = services.listeningStore();
        faults = store.faults();
        mine = keeping(store);
        theirs = services.build(LockServiceBuilder::withoutHousekeeping);
    }

    private LockService keeping(InMemoryLockStore store) {
        LockService service = services.build(
                store,
                builder ->
                        builder.keepReleased(KEPT).clockTolerance(Duration.ZERO).withoutHousekeeping());
        int[] names = new int[1];
        await().until(() -> {
            // Its bell is written once a second at most.
            background.pass(ofSeconds(1));
            return service.acquire(LockRequest.of("first " + names[0]++)).release() == ReleaseOutcome.KEPT;
        });
        background.pass(ofSeconds(1));
        return service;
    }

    @AfterEach
    void close() {
        services.close();
    }

    private LockHandle kept() throws Exception {
        LockHandle lock = mine.acquire(REQUEST);
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.KEPT);
        return lock;
    }

    private boolean isFree() {
        return services.tables().count("HoldfastLock", Map.of("name", "job", "holdCount", 0)) == 1;
    }

    private void assertRevived(LockHandle before, LockHandle after) {
        assertThat(after.owner()).isEqualTo(before.owner());
        assertThat(after.fencingToken()).isEqualTo(before.fencingToken() + 1);
    }

    private static void assertGrantedAnew(LockHandle before, LockHandle after) {
        assertThat(after.owner()).isNotEqualTo(before.owner());
        assertThat(after.fencingToken()).isGreaterThan(before.fencingToken() + 1);
    }

    @Test
    void aKeptLockIsRevivedUntilTheTimeIsOver() throws Exception {
        LockHandle first = kept();
        background.pass(KEPT.minusMillis(1));
        assertThat(mine.admin().kept()).isEqualTo(1);
        LockHandle second = kept();
        assertRevived(first, second);
        background.pass(KEPT.multipliedBy(3).dividedBy(2));
        assertThat(mine.admin().kept()).isZero();
        assertThat(isFree()).isTrue();
        assertGrantedAnew(second, mine.acquire(REQUEST));
    }

    @Test
    void theTokensOfABlockAreGivenOnce() throws Exception {
        long last = 0;
        int kept = 0;
        for (int i = 0; i < 2 * BLOCK; i++) {
            LockHandle lock = mine.acquire(REQUEST);
            assertThat(lock.fencingToken()).isGreaterThan(last);
            last = lock.fencingToken();
            kept += lock.release() == ReleaseOutcome.KEPT ? 1 : 0;
        }
        assertThat(kept).isEqualTo(2 * (BLOCK - 1));
        assertThat(theirs.acquire(REQUEST).fencingToken()).isGreaterThan(last);
    }

    @Test
    void aGrantIsRevivedForASecondAtMost() throws Exception {
        LockHandle first = kept();
        LockHandle next;
        int steps = 0;
        do {
            background.pass(KEPT.dividedBy(2));
            next = kept();
            steps++;
        } while (next.owner().equals(first.owner()));
        assertThat(KEPT.dividedBy(2).multipliedBy(steps)).isEqualTo(ofSeconds(1));
    }

    /** A forced release of any lock makes the next heartbeat reconcile. It might be the kept one that was released. */
    @Test
    void noGrantIsRevivedThatAReconciliationMayHaveFoundChanged() throws Exception {
        LockHandle other = mine.acquire(LockRequest.of("other"));
        LockHandle forced = mine.acquire(LockRequest.of("forced"));
        LockHandle before = kept();
        assertThat(theirs.admin().forceRelease(forced.name(), "test")).isPresent();
        other.renew(ofSeconds(10));
        assertThat(forced.state()).isEqualTo(LockState.LOST);
        assertGrantedAnew(before, mine.acquire(REQUEST));
    }

    @Test
    void aSuspensionOfTheMachineEndsTheRun() throws Exception {
        LockHandle first = kept();
        ticker.suspend(ofSeconds(2));
        LockHandle second = mine.acquire(REQUEST);
        assertGrantedAnew(first, second);
        ticker.suspend(ofSeconds(2));
        assertThat(second.release()).as("suspended while it was held").isEqualTo(ReleaseOutcome.RELEASED);
    }

    @Test
    void aRequestOfAnotherKindGivesTheRowBackFirst() throws Exception {
        LockHandle first = kept();
        try (LockHandle byLease = mine.acquire(REQUEST.lease(ofSeconds(10)))) {
            assertGrantedAnew(first, byLease);
            assertThat(mine.admin().kept()).isZero();
        }
    }

    @Test
    void anotherServiceGetsTheLockWhenItAsks() throws Exception {
        LockService asking = keeping(services.listeningStore());
        LockHandle first = kept();
        assertThat(asking.tryAcquire(REQUEST)).as("nothing has given it back").isEmpty();
        await().until(() -> {
            background.step();
            return isFree();
        });
        LockHandle next = asking.tryAcquire(REQUEST).orElseThrow();
        assertThat(next.fencingToken()).isGreaterThan(first.fencingToken());
        next.close();
        background.pass(KEPT.multipliedBy(2));
        assertThat(mine.acquire(REQUEST).release())
                .as("a name that was asked for")
                .isEqualTo(ReleaseOutcome.RELEASED);
        background.pass(ofSeconds(2));
        kept();
    }

    @ParameterizedTest
    @EnumSource(Unanswered.class)
    void aGiveBackWithoutAnAnswerIsSettled(Unanswered effect) throws Exception {
        kept();
        faults.leaveUnanswered("release", effect);
        background.pass(KEPT.multipliedBy(2));
        assertThat(faults.haveAllOccurred()).isTrue();
        assertThat(mine.admin().kept()).isZero();
        faults.arrive();
        background.pass(ofSeconds(5));
        Optional<LockHandle> next = theirs.tryAcquire(REQUEST);
        assertThat(next).isPresent();
        faults.arrive();
        background.pass(ofSeconds(5));
        assertThat(next.get().release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    @Test
    void theCloseOfTheServiceGivesAllBack() throws Exception {
        kept();
        mine.close();
        assertThat(isFree()).isTrue();
    }
}
