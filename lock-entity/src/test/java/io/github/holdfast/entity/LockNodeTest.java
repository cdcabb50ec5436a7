package io.github.holdfast.entity;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;

class LockNodeTest {

    private static final Instant STARTED = Instant.parse("2026-03-29T00:59:59.999999Z");
    private static final Instant EXPIRES = STARTED.plusSeconds(30);

    private static LockNode node(boolean ended) {
        return new LockNode("node-1", STARTED, EXPIRES, ended);
    }

    @Test
    void accessorsTellTheColumns() {
        LockNode node = node(false);
        Columns.load(node, "description", "shop on host-1, pid 4711");
        Columns.load(node, "version", 12L);
        Columns.load(node, "waitsUntil", STARTED.plusSeconds(4));
        Columns.load(node, "leaseMillis", 30_000L);

        assertThat(node.id()).isEqualTo("node-1");
        assertThat(node.startedAt()).isEqualTo(STARTED);
        assertThat(node.expiresAt()).isEqualTo(EXPIRES);
        assertThat(node.isEnded()).isFalse();
        assertThat(node.description()).isEqualTo("shop on host-1, pid 4711");
        assertThat(node.version()).isEqualTo(12);
        assertThat(node.waitsUntil()).isEqualTo(STARTED.plusSeconds(4));
        assertThat(node.lease()).isEqualTo(Duration.ofSeconds(30));
        assertThat(Columns.of(node)).hasSize(9);
    }

    @Test
    void newNodeHasNoDescriptionAndVersionZeroAndDoesNotWait() {
        assertThat(node(true).isEnded()).isTrue();
        assertThat(node(true).description()).isNull();
        assertThat(node(true).version()).isZero();
        assertThat(node(true).waitsUntil()).isNull();
        assertThat(node(true).lease()).isZero();
    }

    @Test
    void nodeIsStoppedIfItWasEndedAndWaitsNoLongerThanFromItsStart() {
        LockNode node = node(true);
        Columns.load(node, "waitsUntil", STARTED);
        assertThat(node.isStopped()).isTrue();
        Columns.load(node, "waitsUntil", STARTED.plusSeconds(4));
        assertThat(node.isStopped()).isFalse();
        assertThat(node(true).isStopped()).isFalse();
        LockNode living = node(false);
        Columns.load(living, "waitsUntil", STARTED);
        assertThat(living.isStopped()).isFalse();
    }

    @Test
    @SuppressWarnings("NullAway")
    void nodeNeedsAnIdAndItsInstants() {
        assertThatNullPointerException().isThrownBy(() -> new LockNode(null, STARTED, EXPIRES, false));
        assertThatNullPointerException().isThrownBy(() -> new LockNode("node-1", null, EXPIRES, false));
        assertThatNullPointerException().isThrownBy(() -> new LockNode("node-1", STARTED, null, false));
    }

    @Test
    void nodeIsOverdueFromTheInstantAtWhichItsLeaseEnds() {
        assertThat(node(false).isOverdue(EXPIRES.minusNanos(1))).isFalse();
        assertThat(node(false).isOverdue(EXPIRES)).isTrue();
        assertThat(node(false).isOverdue(EXPIRES.plusSeconds(1))).isTrue();
    }

    @Test
    void endedNodeIsNotOverdueBecauseNothingIsLeftToEnd() {
        assertThat(node(true).isOverdue(EXPIRES.minusNanos(1))).isFalse();
        assertThat(node(true).isOverdue(EXPIRES.plusSeconds(1))).isFalse();
    }
}
