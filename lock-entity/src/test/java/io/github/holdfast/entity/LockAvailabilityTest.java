package io.github.holdfast.entity;

import static java.util.function.Function.identity;
import static java.util.stream.Collectors.counting;
import static java.util.stream.Collectors.groupingBy;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What a row says to one who wants the lock, in every situation that its columns, its node and the clock can be in. */
class LockAvailabilityTest {

    private static final Instant NOW = Instant.parse("2026-03-29T01:30:00.123456Z");

    /** The smallest step of the databases' clocks. */
    private static final long MICROSECOND = 1000;

    private static final Instant PAST = NOW.minusNanos(MICROSECOND);
    private static final Instant FUTURE = NOW.plusNanos(MICROSECOND);

    private enum Who {
        NOBODY,
        ME,
        ANOTHER;

        @Nullable
        String asOwner() {
            return this == NOBODY ? null : "owner-" + this;
        }

        @Nullable
        String asNode() {
            return this == NOBODY ? null : "node-" + this;
        }
    }

    private enum When {
        NEVER(null),
        BEFORE(PAST),
        NOW_EXACTLY(NOW),
        LATER(FUTURE);

        private final @Nullable Instant instant;

        When(@Nullable Instant instant) {
            this.instant = instant;
        }
    }

    private enum Node {
        ABSENT(null, false),
        ALIVE(FUTURE, false),
        OVERDUE(PAST, false),
        JUST_OVERDUE(NOW, false),
        ENDED(PAST, true),
        ENDED_EARLY(FUTURE, true),
        STOPPED(FUTURE, true);

        private final @Nullable Instant expiresAt;
        private final boolean ended;

        Node(@Nullable Instant expiresAt, boolean ended) {
            this.expiresAt = expiresAt;
            this.ended = ended;
        }

        @Nullable
        LockNode row() {
            if (expiresAt == null) {
                return null;
            }
            LockNode row = new LockNode("node", NOW.minusSeconds(60), expiresAt, ended);
            Columns.load(row, "waitsUntil", this == STOPPED ? row.startedAt() : null);
            return row;
        }
    }

    private record Situation(Who owner, Who nodeId, Node node, When expiresAt, When availableAt, Who claimantNode) {

        static List<Situation> all() {
            List<Situation> all = new ArrayList<>();
            for (Who owner : Who.values()) {
                for (Who nodeId : Who.values()) {
                    for (Node node : Node.values()) {
                        for (When expiresAt : When.values()) {
                            for (When availableAt : When.values()) {
                                all.add(new Situation(owner, nodeId, node, expiresAt, availableAt, Who.NOBODY));
                                all.add(new Situation(owner, nodeId, node, expiresAt, availableAt, Who.ME));
                            }
                        }
                    }
                }
            }
            return all;
        }

        LockEntity row() {
            LockEntity row = new LockEntity("order:1001", 1);
            Columns.load(row, "owner", owner.asOwner());
            Columns.load(row, "nodeId", nodeId.asNode());
            Columns.load(row, "holdCount", owner == Who.NOBODY ? 0 : 1);
            Columns.load(row, "expiresAt", expiresAt.instant);
            Columns.load(row, "availableAt", availableAt.instant);
            return row;
        }

        LockAvailability availability() {
            return availability(Duration.ZERO);
        }

        LockAvailability availability(Duration tolerance) {
            return row().availability("owner-ME", claimantNode.asNode(), node.row(), NOW, tolerance);
        }

        /** The design's section 4, "Free to take" and "Re-entry", rule by rule. */
        LockAvailability expected() {
            if (isFreeToTake()) {
                return availableAt == When.LATER ? LockAvailability.NOT_YET_AVAILABLE : LockAvailability.FREE;
            }
            if (isHeldThroughANode() && (node == Node.OVERDUE || node == Node.JUST_OVERDUE)) {
                return LockAvailability.HOLDER_NODE_EXPIRED;
            }
            if (owner == Who.ME
                    && (!isHeldThroughANode() || (node == Node.ALIVE && nodeId == Who.ME && claimantNode == Who.ME))) {
                return LockAvailability.HELD_BY_CLAIMANT;
            }
            return LockAvailability.HELD_BY_OTHER;
        }

        private boolean isFreeToTake() {
            if (owner == Who.NOBODY) {
                return true;
            }
            if (isHeldThroughANode() && node != Node.ABSENT) {
                return node == Node.ENDED || node == Node.STOPPED;
            }
            return expiresAt == When.NEVER ? isHeldThroughANode() : expiresAt != When.LATER;
        }

        private boolean isHeldThroughANode() {
            return nodeId != Who.NOBODY;
        }
    }

    @Test
    void everySituationIsJudgedByTheRules() {
        assertThat(Situation.all())
                .hasSize(3 * 3 * 7 * 4 * 4 * 2)
                .allSatisfy(situation -> assertThat(situation.availability()).isEqualTo(situation.expected()));
    }

    /**
     * Counted by hand: of the 2016 situations 672 have no owner (a quarter of them not available yet). Of the 448 lease-held
     * ones half are over, and of the rest half are mine. Of the 896 node-held ones, 256 have left their node, 256 have an overdue one,
     * and of the 128 without a node's row a quarter has a lease that is not over. Of the 128 with a living node, the claimant re-enters an
     * eighth. A node that was ended early still holds its 128.
     */
    @Test
    void judgementsAreAsManyAsCountedByHand() {
        Map<LockAvailability, Long> judgements =
                Situation.all().stream().map(Situation::availability).collect(groupingBy(identity(), counting()));

        assertThat(judgements)
                .isEqualTo(Map.of(
                        LockAvailability.FREE, 504L + 168 + 192 + 72,
                        LockAvailability.NOT_YET_AVAILABLE, 168L + 56 + 64 + 24,
                        LockAvailability.HELD_BY_CLAIMANT, 112L + 16,
                        LockAvailability.HELD_BY_OTHER, 112L + 112 + 128 + 32,
                        LockAvailability.HOLDER_NODE_EXPIRED, 256L));
    }

    @Test
    void nobodyIsGrantedWhatALivingLeaseOrNodeOfAnotherHolds() {
        assertThat(Situation.all())
                .filteredOn(situation -> situation.owner == Who.ANOTHER)
                .filteredOn(situation -> situation.nodeId == Who.NOBODY
                        ? situation.expiresAt == When.LATER
                        : situation.node == Node.ALIVE)
                .isNotEmpty()
                .allSatisfy(
                        situation -> assertThat(situation.availability()).isEqualTo(LockAvailability.HELD_BY_OTHER));
    }

    @Test
    void overdueNodeIsNeverTakenBeforeItIsEnded() {
        assertThat(Situation.all())
                .filteredOn(situation -> situation.owner != Who.NOBODY && situation.nodeId != Who.NOBODY)
                .filteredOn(situation -> situation.node == Node.OVERDUE || situation.node == Node.JUST_OVERDUE)
                .isNotEmpty()
                .allSatisfy(situation ->
                        assertThat(situation.availability()).isEqualTo(LockAvailability.HOLDER_NODE_EXPIRED));
    }

    @Test
    void leaseEndsAtItsVeryInstant() {
        LockEntity row = new LockEntity("order:1001", 1).granted("owner-ME", null, null);
        Columns.load(row, "expiresAt", NOW);

        assertThat(row.availability("owner-ME", null, null, NOW.minusNanos(1), Duration.ZERO))
                .isEqualTo(LockAvailability.HELD_BY_CLAIMANT);
        assertThat(row.availability("owner-ME", null, null, NOW, Duration.ZERO)).isEqualTo(LockAvailability.FREE);
    }

    /** Another machine may have become the database, whose clock is ahead. */
    @Test
    void whatIsOverIsNobodysUntilItHasBeenSoForLongerThanTheTolerance() {
        Duration tolerance = Duration.ofMillis(100);
        Instant before = NOW.plus(tolerance).minusNanos(MICROSECOND);
        LockEntity leased = new LockEntity("order:1001", 1).granted("owner-ME", null, null);
        Columns.load(leased, "expiresAt", NOW);
        assertThat(leased.availability("owner-ME", null, null, PAST, tolerance))
                .isEqualTo(LockAvailability.HELD_BY_CLAIMANT);
        for (String owner : List.of("owner-ME", "owner-ANOTHER")) {
            assertThat(leased.availability(owner, null, null, NOW, tolerance))
                    .isEqualTo(LockAvailability.HELD_BY_OTHER);
            assertThat(leased.availability(owner, null, null, before, tolerance))
                    .isEqualTo(LockAvailability.HELD_BY_OTHER);
            assertThat(leased.availability(owner, null, null, NOW.plus(tolerance), tolerance))
                    .isEqualTo(LockAvailability.FREE);
        }
        LockEntity kept = new LockEntity("order:1001", 1).granted("owner-ME", "node", null);
        LockNode node = new LockNode("node", NOW.minusSeconds(60), NOW, false);
        assertThat(kept.availability("owner-ME", "node", node, PAST, tolerance))
                .isEqualTo(LockAvailability.HELD_BY_CLAIMANT);
        for (String owner : List.of("owner-ME", "owner-ANOTHER")) {
            assertThat(kept.availability(owner, "node", node, NOW, tolerance))
                    .isEqualTo(LockAvailability.HELD_BY_OTHER);
            assertThat(kept.availability(owner, "node", node, before, tolerance))
                    .isEqualTo(LockAvailability.HELD_BY_OTHER);
            assertThat(kept.availability(owner, "node", node, NOW.plus(tolerance), tolerance))
                    .isEqualTo(LockAvailability.HOLDER_NODE_EXPIRED);
        }
        assertThat(leased.timeUntilFree(NOW, tolerance)).isEqualTo(tolerance);
        Columns.load(kept, "expiresAt", NOW);
        assertThat(kept.timeUntilFree(NOW, tolerance)).as("the node says").isNull();
        LockNode ended = new LockNode("node", NOW.minusSeconds(60), NOW, true);
        for (LockNode row : new LockNode[] {ended, null}) {
            assertThat(kept.availability("owner-ANOTHER", "node", row, before, tolerance))
                    .isEqualTo(LockAvailability.HELD_BY_OTHER);
            assertThat(kept.availability("owner-ANOTHER", "node", row, NOW.plus(tolerance), tolerance))
                    .isEqualTo(LockAvailability.FREE);
        }
    }

    @Test
    void whatWasReleasedOrStoppedIsFreeAtOnceWhateverTheTolerance() {
        Duration tolerance = Duration.ofMinutes(1);
        assertThat(Situation.all())
                .filteredOn(situation -> situation.owner == Who.NOBODY
                        || (situation.isHeldThroughANode() && situation.node == Node.STOPPED))
                .isNotEmpty()
                .allSatisfy(situation ->
                        assertThat(situation.availability(tolerance)).isEqualTo(situation.expected()));
    }

    @Test
    void lockIsAvailableAtItsVeryInstant() {
        LockEntity row = new LockEntity("order:1001", 1);
        Columns.load(row, "availableAt", NOW);

        assertThat(row.availability("owner-ME", null, null, NOW.minusNanos(1), Duration.ZERO))
                .isEqualTo(LockAvailability.NOT_YET_AVAILABLE);
        assertThat(row.availability("owner-ME", null, null, NOW, Duration.ZERO)).isEqualTo(LockAvailability.FREE);
    }

    @Test
    void minimumHoldDelaysOthersButNotTheHoldersReentry() {
        LockEntity row = new LockEntity("order:1001", 1).granted("owner-ME", null, null);
        Columns.load(row, "expiresAt", FUTURE);
        Columns.load(row, "availableAt", FUTURE.plusSeconds(60));

        assertThat(row.availability("owner-ME", null, null, NOW, Duration.ZERO))
                .isEqualTo(LockAvailability.HELD_BY_CLAIMANT);
        assertThat(row.availability("owner-ANOTHER", null, null, NOW, Duration.ZERO))
                .isEqualTo(LockAvailability.HELD_BY_OTHER);
        assertThat(row.availability("owner-ANOTHER", null, null, FUTURE, Duration.ZERO))
                .isEqualTo(LockAvailability.NOT_YET_AVAILABLE);
        assertThat(row.availability("owner-ME", null, null, FUTURE, Duration.ZERO))
                .isEqualTo(LockAvailability.NOT_YET_AVAILABLE);
        assertThat(row.released().availability("owner-ME", null, null, NOW, Duration.ZERO))
                .isEqualTo(LockAvailability.NOT_YET_AVAILABLE);
    }

    @Test
    void ownersAreComparedExactly() {
        LockEntity row = new LockEntity("order:1001", 1).granted("owner-ME", null, null);
        Columns.load(row, "expiresAt", FUTURE);

        assertThat(row.availability("owner-me", null, null, NOW, Duration.ZERO))
                .isEqualTo(LockAvailability.HELD_BY_OTHER);
        assertThat(row.availability("owner-ME ", null, null, NOW, Duration.ZERO))
                .isEqualTo(LockAvailability.HELD_BY_OTHER);
    }
}
