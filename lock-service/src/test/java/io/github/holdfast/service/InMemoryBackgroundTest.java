package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.repository.memory.InMemoryFaults.Unanswered;
import io.github.holdfast.service.engine.FakeTicker;
import io.github.holdfast.service.engine.SteppedBackground;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Heartbeats, the losses of a node, and writes in doubt, on the double of the store: each step is taken when a test says so. */
class InMemoryBackgroundTest {

    private static final Duration LEASE = ofSeconds(30);

    /** Less than the lease, and more than the period of the beats. */
    private static final Duration UNTIL_BEAT = ofSeconds(11);

    private final FakeTicker ticker = new FakeTicker();
    private final SteppedBackground background = ticker.stepped();
    private final Queue<LossCause> losses = new ConcurrentLinkedQueue<>();
    private InMemoryServices services;
    private LockService mine;
    private LockService theirs;
    private LockHandle lock;

    @BeforeEach
    void open() throws Exception {
        services = new InMemoryServices(ticker);
        mine = services.buildBreakable(builder ->
                builder.nodeLease(LEASE).clockTolerance(Duration.ZERO).withoutHousekeeping());
        theirs = services.build(builder -> builder.clockTolerance(Duration.ZERO).withoutHousekeeping());
        lock = mine.acquire(LockRequest.of("kept"));
        lock.onLost(loss -> losses.add(loss.cause()));
    }

    @AfterEach
    void close() {
        // Without a connection, and on a clock that stands still, a release would be repeated for ever.
        services.refuseConnections(false);
        services.close();
    }

    private boolean isFree() {
        return theirs.tryAcquire(LockRequest.of("kept"))
                .map(LockHandle::release)
                .isPresent();
    }

    private void assertBeaten() {
        assertThat(lock.remaining()).isGreaterThan(LEASE.minus(UNTIL_BEAT));
    }

    @Test
    void aLockOutlivesTheLeaseOfItsNodeByTheBeats() {
        for (int beat = 0; beat < 30; beat++) {
            background.pass(UNTIL_BEAT);
            assertBeaten();
        }
        assertThat(lock.state()).isEqualTo(LockState.HELD);
        assertThat(isFree()).isFalse();
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(isFree()).isTrue();
    }

    @Test
    void withoutTheDatabaseItIsSuspectThenLostBeforeAnotherServiceHasIt() {
        services.refuseConnections(true);
        background.pass(ofSeconds(21));
        assertThat(lock.state()).isEqualTo(LockState.SUSPECT);
        assertThat(services.faults().refusedConnections()).isPositive();
        assertThat(isFree()).isFalse();
        background.pass(LEASE.minusSeconds(21).minusMillis(30));
        assertThat(lock.state()).isEqualTo(LockState.LOST);
        assertThat(isFree()).isFalse();
        await().untilAsserted(() -> assertThat(losses).containsExactly(LossCause.DATABASE_UNREACHABLE));
        background.pass(ofMillis(31));
        assertThat(isFree()).isTrue();
        services.refuseConnections(false);
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.LOST);
    }

    @Test
    void aShortOutageLeavesItHeldAgain() {
        services.refuseConnections(true);
        background.pass(ofSeconds(21));
        assertThat(lock.state()).isEqualTo(LockState.SUSPECT);
        services.refuseConnections(false);
        background.pass(ofSeconds(2));
        assertBeaten();
        assertThat(lock.state()).isEqualTo(LockState.HELD);
        assertThat(losses).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(Unanswered.class)
    void aBeatWithoutAnAnswerIsSettledByTheNext(Unanswered effect) {
        services.faults().leaveUnanswered("beat", effect);
        background.pass(UNTIL_BEAT);
        assertThat(services.faults().haveAllOccurred()).isTrue();
        services.faults().arrive();
        background.pass(UNTIL_BEAT);
        assertBeaten();
        services.faults().arrive();
        background.pass(UNTIL_BEAT);
        assertBeaten();
        assertThat(lock.state()).isEqualTo(LockState.HELD);
        assertThat(losses).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(names = {"CONFLICT", "DEADLOCK", "BUSY", "READ_ONLY", "INSUFFICIENT_RESOURCES", "EXHAUSTED", "REFUSED"})
    void aBeatThatFailsIsRepeated(Failure failure) {
        services.faults().refuse("beat", failure);
        background.pass(UNTIL_BEAT);
        assertThat(services.faults().haveAllOccurred()).isTrue();
        assertBeaten();
        assertThat(lock.state()).isEqualTo(LockState.HELD);
    }

    @Test
    void aNodeThatWasEndedLosesItsLocksAndTheServiceGoesOnWithAnother() throws Exception {
        String id = Objects.requireNonNull(mine.find("kept").orElseThrow().nodeId());
        services.tables().update("HoldfastNode", Map.of("ended", true, "version", 1L), Map.of("id", id));
        background.pass(UNTIL_BEAT);
        assertThat(lock.state()).isEqualTo(LockState.LOST);
        await().untilAsserted(() -> assertThat(losses).containsExactly(LossCause.EXPIRED));
        try (LockHandle next = mine.acquire(LockRequest.of("next"))) {
            assertThat(mine.find("next").orElseThrow().nodeId()).isNotEqualTo(id);
            assertThat(next.state()).isEqualTo(LockState.HELD);
        }
    }

    // Writes in doubt

    @Test
    void aRefusedReleaseIsRepeatedEveryHalfMinute() {
        services.faults().refuse("release", Failure.REFUSED);
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.UNRESOLVED);
        services.faults().refuse("release", Failure.REFUSED);
        background.step();
        assertThat(services.faults().haveAllOccurred()).isTrue();
        background.pass(ofSeconds(29));
        assertThat(isFree()).isFalse();
        background.pass(ofSeconds(2));
        assertThat(isFree()).isTrue();
    }
}
