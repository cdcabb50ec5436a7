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
import io.github.holdfast.repository.InMemoryFaults.Unanswered;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.service.engine.FakeTicker;
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

/** Heartbeats and the losses of a node, on the double of the store: each time passes when a test says so. */
class InMemoryNodeTest {

    /** The shortest one, so that the heartbeat looks often whether a beat is due. */
    private static final Duration LEASE = ofSeconds(1);

    /** Less than the lease, and more than the period of the beats. */
    private static final Duration UNTIL_BEAT = ofMillis(350);

    private final FakeTicker ticker = new FakeTicker();
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

    private void awaitBeat() {
        await().until(() -> lock.remaining().compareTo(LEASE.minusMillis(10)) > 0);
    }

    @Test
    void aLockOutlivesTheLeaseOfItsNodeByTheBeats() {
        for (int beat = 0; beat < 30; beat++) {
            ticker.advance(UNTIL_BEAT);
            awaitBeat();
        }
        assertThat(lock.state()).isEqualTo(LockState.HELD);
        assertThat(isFree()).isFalse();
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(isFree()).isTrue();
    }

    @Test
    void withoutTheDatabaseItIsSuspectThenLostBeforeAnotherServiceHasIt() {
        services.refuseConnections(true);
        ticker.advance(ofMillis(700));
        assertThat(lock.state()).isEqualTo(LockState.SUSPECT);
        await().until(() -> services.faults().refusedConnections() > 0);
        assertThat(isFree()).isFalse();
        ticker.advance(ofMillis(299));
        assertThat(lock.state()).isEqualTo(LockState.LOST);
        assertThat(isFree()).isFalse();
        await().untilAsserted(() -> assertThat(losses).containsExactly(LossCause.DATABASE_UNREACHABLE));
        ticker.advance(ofMillis(10));
        assertThat(isFree()).isTrue();
        services.refuseConnections(false);
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.LOST);
    }

    @Test
    void aShortOutageLeavesItHeldAgain() {
        services.refuseConnections(true);
        ticker.advance(ofMillis(700));
        assertThat(lock.state()).isEqualTo(LockState.SUSPECT);
        services.refuseConnections(false);
        awaitBeat();
        assertThat(lock.state()).isEqualTo(LockState.HELD);
        assertThat(losses).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(Unanswered.class)
    void aBeatWithoutAnAnswerIsSettledByTheNext(Unanswered effect) {
        services.faults().leaveUnanswered("beat", effect);
        ticker.advance(UNTIL_BEAT);
        await().until(() -> services.faults().haveAllOccurred());
        services.faults().arrive();
        awaitBeat();
        services.faults().arrive();
        ticker.advance(UNTIL_BEAT);
        awaitBeat();
        assertThat(lock.state()).isEqualTo(LockState.HELD);
        assertThat(losses).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(names = {"CONFLICT", "DEADLOCK", "BUSY", "READ_ONLY", "INSUFFICIENT_RESOURCES", "EXHAUSTED", "REFUSED"})
    void aBeatThatFailsIsRepeated(Failure failure) {
        services.faults().refuse("beat", failure);
        ticker.advance(UNTIL_BEAT);
        await().until(() -> services.faults().haveAllOccurred());
        awaitBeat();
        assertThat(lock.state()).isEqualTo(LockState.HELD);
    }

    @Test
    void aNodeThatWasEndedLosesItsLocksAndTheServiceGoesOnWithAnother() throws Exception {
        String id = Objects.requireNonNull(mine.find("kept").orElseThrow().nodeId());
        services.tables().update("HoldfastNode", Map.of("ended", true, "version", 1L), Map.of("id", id));
        ticker.advance(UNTIL_BEAT);
        await().until(() -> lock.state() == LockState.LOST);
        await().untilAsserted(() -> assertThat(losses).containsExactly(LossCause.EXPIRED));
        try (LockHandle next = mine.acquire(LockRequest.of("next"))) {
            assertThat(mine.find("next").orElseThrow().nodeId()).isNotEqualTo(id);
            assertThat(next.state()).isEqualTo(LockState.HELD);
        }
    }
}
