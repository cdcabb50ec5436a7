package io.github.holdfast.service.engine.node;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.entity.LockNode;
import io.github.holdfast.repository.memory.Row;
import io.github.holdfast.repository.rows.LockNodeRepository.Pulse;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.service.engine.FakeTicker;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** When a service finds the node of another one dead, step by step on two clocks that the test moves. */
class NodeObserverTest {

    private static final Duration LEASE = ofSeconds(30);
    private static final Duration TOLERANCE = ofMillis(100);

    private final FakeTicker ticker = new FakeTicker().keepingPace();
    private Instant dbNow = Instant.parse("2026-11-30T12:00:00Z");
    private Instant expiresAt = dbNow.plus(LEASE);
    private long version;

    private final NodeObserver ofOneServer = observer(Optional.empty());
    private final NodeObserver ofCluster = observer(Optional.of("a cluster"));

    /** Nothing is read in the background. */
    @SuppressWarnings("NullAway")
    private NodeObserver observer(Optional<String> severalWriters) {
        return new NodeObserver(store(severalWriters), null, ticker, LEASE, TOLERANCE);
    }

    /** A store that says how many servers write, and has no rows. */
    private static LockStore store(Optional<String> severalWriters) {
        return (LockStore) Proxy.newProxyInstance(
                LockStore.class.getClassLoader(), new Class<?>[] {LockStore.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("severalWriters")) {
                        return severalWriters;
                    }
                    throw new UnsupportedOperationException(method.getName());
                });
    }

    private void pass(Duration time) {
        ticker.advance(time);
        dbNow = dbNow.plus(time);
    }

    private void beat() {
        version += 70_000;
        expiresAt = dbNow.plus(LEASE);
    }

    private LockNode node(Duration lease) {
        return Row.like(new LockNode("theirs", Instant.EPOCH, expiresAt, false))
                .with("version", version)
                .with("leaseMillis", lease.toMillis())
                .made();
    }

    private boolean isDead(NodeObserver observer, Duration lease) {
        return observer.judgement(dbNow, ticker.nanoTime()).test(node(lease));
    }

    private boolean isDead(NodeObserver observer) {
        return isDead(observer, LEASE);
    }

    @Test
    void oneClockFindsANodeDeadOneToleranceAfterItsLease() {
        pass(ofSeconds(5));
        assertThat(isDead(ofOneServer)).isFalse();
        pass(LEASE.plus(TOLERANCE).minusSeconds(5).minusMillis(1));
        assertThat(isDead(ofOneServer)).isFalse();
        pass(ofMillis(1));
        assertThat(isDead(ofOneServer)).isTrue();
    }

    @Test
    void aServiceWithoutAnEarlierReadingTrustsTheClock() {
        dbNow = dbNow.plus(ofMinutes(1));
        assertThat(isDead(ofOneServer)).isTrue();
    }

    @Test
    void aClockThatWasSetForwardEndsNoNode() {
        assertThat(isDead(ofOneServer)).isFalse();
        dbNow = dbNow.plus(ofMinutes(1));
        assertThat(isDead(ofOneServer)).isFalse();
        assertThat(ofOneServer.isClockTrusted()).isFalse();
        assertThat(ofOneServer.clockStep()).isEqualTo(ofMinutes(1));
        pass(ofSeconds(10));
        beat();
        assertThat(isDead(ofOneServer)).isFalse();
    }

    @Test
    void afterOneLeaseTheClockIsTrustedAgain() {
        assertThat(isDead(ofOneServer)).isFalse();
        dbNow = dbNow.plus(ofMinutes(1));
        assertThat(isDead(ofOneServer)).isFalse();
        beat();
        pass(LEASE);
        assertThat(ofOneServer.isClockTrusted()).isFalse();
        pass(ofMillis(31));
        assertThat(ofOneServer.isClockTrusted()).isTrue();
        assertThat(ofOneServer.clockStep()).isZero();
        assertThat(isDead(ofOneServer)).as("by the clock as it is now").isFalse();
        pass(TOLERANCE);
        assertThat(isDead(ofOneServer)).isTrue();
    }

    @Test
    void aClockThatWasSetBackKeepsNoDeadNodeAlive() {
        pass(ofSeconds(5));
        assertThat(isDead(ofOneServer)).isFalse();
        dbNow = dbNow.minus(ofMinutes(10));
        pass(ofSeconds(1));
        assertThat(isDead(ofOneServer)).isFalse();
        assertThat(ofOneServer.clockStep()).isEqualTo(ofMinutes(-10));
        pass(ofSeconds(24));
        assertThat(isDead(ofOneServer))
                .as("29 s after its version was first seen")
                .isFalse();
        pass(ofMillis(5_030));
        assertThat(isDead(ofOneServer)).isTrue();
    }

    @Test
    void whatIsFirstSeenWhenTheClockWasSetBackIsFoundDeadToo() {
        assertThat(isDead(ofOneServer)).isFalse();
        pass(ofSeconds(4));
        beat();
        dbNow = dbNow.minus(Duration.ofHours(1));
        pass(ofSeconds(6));
        ofOneServer.observe(List.of(pulse()), ticker.nanoTime());
        assertThat(ofOneServer.isClockTrusted()).isFalse();
        pass(LEASE.plusSeconds(1));
        assertThat(ofOneServer.isClockTrusted())
                .as("again, and by it the node lives for an hour")
                .isTrue();
        assertThat(isDead(ofOneServer)).isTrue();
        assertThat(ofOneServer.silent(List.of(pulse()))).containsExactly(pulse());
    }

    @Test
    void aClockThatIsALittleFasterIsTheSameClock() {
        for (int hour = 0; hour < 100; hour++) {
            assertThat(isDead(ofOneServer)).isEqualTo(hour > 0);
            ticker.advance(Duration.ofHours(1));
            dbNow = dbNow.plus(Duration.ofHours(1)).plusMillis(3_600);
            assertThat(ofOneServer.isClockTrusted()).isTrue();
        }
    }

    @Test
    void whereSeveralServersWriteNoClockFindsANodeDead() {
        assertThat(isDead(ofCluster)).isFalse();
        dbNow = dbNow.plus(ofMinutes(1));
        assertThat(isDead(ofCluster)).isFalse();
        assertThat(ofCluster.isClockTrusted()).isFalse();
        assertThat(ofCluster.clockStep()).isZero();
    }

    @Test
    void aVersionThatStandsStillForALeaseAndTheMarginIsDead() {
        assertThat(isDead(ofCluster)).isFalse();
        pass(LEASE.plusMillis(29));
        assertThat(isDead(ofCluster)).isFalse();
        pass(ofMillis(1));
        assertThat(isDead(ofCluster)).isTrue();
    }

    @Test
    void theObservationBeginsAgainWithEachVersion() {
        assertThat(isDead(ofCluster)).isFalse();
        pass(ofSeconds(29));
        beat();
        assertThat(isDead(ofCluster)).isFalse();
        pass(ofSeconds(29));
        assertThat(isDead(ofCluster)).isFalse();
        version -= 70_000;
        assertThat(isDead(ofCluster)).as("a server that is behind").isFalse();
        pass(ofSeconds(30));
        assertThat(isDead(ofCluster)).isFalse();
        pass(ofMillis(30));
        assertThat(isDead(ofCluster)).isTrue();
    }

    @Test
    void theLeaseIsThatOfTheNode() {
        assertThat(isDead(ofCluster, ofMinutes(2))).isFalse();
        pass(ofMinutes(1));
        assertThat(isDead(ofCluster, ofMinutes(2))).isFalse();
        pass(ofMinutes(1).plusMillis(120));
        assertThat(isDead(ofCluster, ofMinutes(2))).isTrue();
        assertThat(isDead(ofCluster, Duration.ZERO)).as("a row without it").isTrue();
    }

    @Test
    void theOwnNodeIsNeverDead() {
        ofOneServer.own("theirs");
        ofCluster.own("theirs");
        assertThat(isDead(ofCluster)).isFalse();
        pass(ofMinutes(2));
        assertThat(isDead(ofOneServer)).isFalse();
        assertThat(isDead(ofCluster)).isFalse();
        assertThat(ofCluster.silent(List.of(pulse()))).isEmpty();
    }

    @Test
    void readsOfAllNodesObserveToo() {
        ofCluster.observe(List.of(pulse()), ticker.nanoTime());
        pass(LEASE.plusMillis(29));
        assertThat(ofCluster.silent(List.of(pulse()))).isEmpty();
        pass(ofMillis(1));
        assertThat(ofCluster.silent(List.of(pulse()))).containsExactly(pulse());
        assertThat(isDead(ofCluster)).isTrue();
        ofCluster.observe(List.of(), ticker.nanoTime());
        assertThat(isDead(ofCluster)).as("forgotten, and seen anew").isFalse();
    }

    private Pulse pulse() {
        return new Pulse("theirs", version, LEASE.toMillis(), dbNow);
    }
}
