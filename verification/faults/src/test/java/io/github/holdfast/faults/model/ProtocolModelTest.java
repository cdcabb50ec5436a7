package io.github.holdfast.faults.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.github.holdfast.faults.model.Explorer.Result;
import io.github.holdfast.faults.model.Explorer.Violation;
import io.github.holdfast.faults.model.Scenario.Kind;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The protocol keeps its promises in every state that the model can reach, and does not if one of its rules is broken. */
@Tag("long")
class ProtocolModelTest {

    private static final Scenario LEASES =
            Scenario.of("two leases, one answer lost", Budget.ofAcquisitions(3).losses(1), Kind.LEASE, Kind.LEASE);

    private static final Scenario COMMITS = Scenario.of(
                    "commits under leases, one answer lost and one crash",
                    Budget.ofAcquisitions(2).losses(1).crashes(1),
                    Kind.LEASE,
                    Kind.LEASE)
            .withTransactions();

    private static final Scenario PURGE =
            Scenario.of("a row is purged", Budget.ofAcquisitions(2).losses(1).purges(1), Kind.LEASE, Kind.LEASE);

    private static final Scenario NODE = Scenario.of(
            "a node and a lease, one crash", Budget.ofAcquisitions(2).crashes(1), Kind.THROUGH_NODE, Kind.LEASE);

    private static final Scenario LONELY_NODE =
            Scenario.of("one node, two answers lost", Budget.ofAcquisitions(1).losses(2), Kind.THROUGH_NODE);

    private static final Scenario FORCED =
            Scenario.of("a forced release", Budget.ofAcquisitions(2).forcedReleases(1), Kind.THROUGH_NODE, Kind.LEASE);

    private static final Scenario FORCED_UNANSWERED = Scenario.of(
            "a forced release and one answer lost",
            Budget.ofAcquisitions(2).forcedReleases(1).losses(1),
            Kind.THROUGH_NODE,
            Kind.ROW_LOCK);

    private static final Scenario ROW_LOCK = Scenario.of(
                    "a lease and a row lock, one crash",
                    Budget.ofAcquisitions(3).crashes(1),
                    Kind.LEASE,
                    Kind.ROW_LOCK)
            .withTransactions();

    private static final Scenario NODE_AND_ROW_LOCK = Scenario.of(
                    "a node and a row lock", Budget.ofAcquisitions(2), Kind.THROUGH_NODE, Kind.ROW_LOCK)
            .withTransactions();

    private static final Scenario SYNCHRONOUS = Scenario.of(
            "a synchronous standby becomes the primary, two writes cancelled",
            Budget.ofAcquisitions(2).cancellations(2).failovers(1),
            Kind.LEASE,
            Kind.LEASE);

    private static final Scenario SYNCHRONOUS_LONELY_NODE = Scenario.of(
            "the same for one node, one write cancelled",
            Budget.ofAcquisitions(1).cancellations(1).failovers(1),
            Kind.THROUGH_NODE);

    private static final Scenario OTHER_CLOCK = Scenario.of(
                    "a failover", Budget.ofAcquisitions(2).failovers(1), Kind.THROUGH_NODE, Kind.LEASE)
            .withClockAheadBy(1);

    private static final Scenario NODE_ELSEWHERE = Scenario.of(
            "a node in another database and a lease",
            Budget.ofAcquisitions(2),
            Kind.THROUGH_NODE_ELSEWHERE,
            Kind.LEASE);

    private static final Scenario NODE_CHANGED_BY_HAND = Scenario.of(
            "a node and a lease, a node's row ended or deleted by hand",
            Budget.ofAcquisitions(2).nodeChanges(1),
            Kind.THROUGH_NODE,
            Kind.LEASE);

    private static final Scenario KEPT = Scenario.of(
                    "a kept lock and a lease", Budget.ofAcquisitions(3), Kind.THROUGH_NODE, Kind.LEASE)
            .keepingReleased();

    private static final Scenario KEPT_FORCED = Scenario.of(
                    "a kept lock, a row lock and a forced release",
                    Budget.ofAcquisitions(3).forcedReleases(1),
                    Kind.THROUGH_NODE,
                    Kind.ROW_LOCK)
            .keepingReleased();

    private static final Scenario KEPT_COMMITS = Scenario.of(
                    "commits under a kept lock, one answer lost",
                    Budget.ofAcquisitions(2).losses(1),
                    Kind.THROUGH_NODE)
            .keepingReleased()
            .withTransactions();

    private static Result<Invariant> explored(Scenario scenario) {
        return Explorer.explore(new ProtocolModel(scenario), Map.of());
    }

    static Stream<Arguments> sound() {
        return Stream.of(
                arguments(LEASES, 60_000),
                arguments(COMMITS, 20_000),
                arguments(PURGE, 10_000),
                arguments(NODE, 40_000),
                arguments(LONELY_NODE, 20_000),
                arguments(FORCED, 70_000),
                arguments(FORCED_UNANSWERED, 100_000),
                arguments(ROW_LOCK, 3_000),
                arguments(NODE_AND_ROW_LOCK, 10_000),
                arguments(SYNCHRONOUS, 10_000),
                arguments(SYNCHRONOUS_LONELY_NODE, 10_000),
                arguments(OTHER_CLOCK, 10_000),
                arguments(NODE_ELSEWHERE, 1_000),
                arguments(NODE_CHANGED_BY_HAND, 200_000),
                arguments(KEPT, 400_000),
                arguments(KEPT_FORCED, 100_000),
                arguments(KEPT_COMMITS, 100_000));
    }

    @ParameterizedTest
    @MethodSource("sound")
    void theProtocolKeepsItsPromisesInEveryState(Scenario scenario, int atLeast) {
        Result<Invariant> result = explored(scenario);
        System.out.printf("Model: %s: %d states%n", scenario.name(), result.states());
        assertThat(result.violation()).as(scenario.name()).isNull();
        assertThat(result.states()).as("states of " + scenario.name()).isGreaterThan(atLeast);
    }

    static Stream<Arguments> broken() {
        return Stream.of(
                arguments(NODE.without(Rule.END_THE_NODE_FIRST), Invariant.ONE_HOLDER),
                arguments(NODE.without(Rule.HEED_THE_COUNT_OF_THE_END), Invariant.ONE_HOLDER),
                arguments(LEASES.without(Rule.EXPIRY_IN_THE_WRITE), Invariant.ONE_HOLDER),
                arguments(
                        PURGE.without(Rule.VERSION_NEVER_RESTARTS, Rule.TOKEN_NEVER_RESTARTS),
                        Invariant.TOKENS_INCREASE),
                arguments(
                        PURGE.without(Rule.VERSION_NEVER_RESTARTS, Rule.COMPARE_TOKEN_AND_OWNER),
                        Invariant.TOKENS_INCREASE),
                arguments(LONELY_NODE.without(Rule.A_LOOK_PROVES_NO_ABSENCE, Rule.RECONCILE), Invariant.BECOMES_FREE),
                arguments(LONELY_NODE.without(Rule.RECONCILE), Invariant.BECOMES_FREE),
                arguments(ROW_LOCK.without(Rule.ROW_LOCK_WRITES_TAKEOVER), Invariant.NO_LOST_UPDATE),
                arguments(COMMITS.without(Rule.GUARD), Invariant.NO_LOST_UPDATE),
                arguments(FORCED.without(Rule.DELAY_AFTER_FORCED_RELEASE), Invariant.ONE_HOLDER),
                arguments(FORCED.without(Rule.ALERT_THE_NODE), Invariant.ONE_HOLDER),
                arguments(FORCED_UNANSWERED.without(Rule.CONFIRM_BY_A_LATER_BEAT), Invariant.ONE_HOLDER),
                arguments(FORCED_UNANSWERED.without(Rule.DELAY_BY_A_WHOLE_LEASE), Invariant.ONE_HOLDER),
                arguments(SYNCHRONOUS.without(Rule.BELIEVE_NO_CANCELLED_WRITE), Invariant.ONE_HOLDER),
                arguments(SYNCHRONOUS.without(Rule.ADOPT_BY_A_WRITE), Invariant.ONE_HOLDER),
                arguments(SYNCHRONOUS.without(Rule.NEW_TOKEN_AFTER_DOUBT), Invariant.ONE_HOLDER),
                arguments(
                        SYNCHRONOUS_LONELY_NODE.without(Rule.RECONCILE, Rule.SETTLE_BY_A_WRITE),
                        Invariant.BECOMES_FREE),
                arguments(OTHER_CLOCK.withClockAheadBy(2), Invariant.ONE_HOLDER),
                arguments(OTHER_CLOCK.without(Rule.TOLERATE_OTHER_CLOCKS), Invariant.ONE_HOLDER),
                arguments(NODE_ELSEWHERE.without(Rule.GRANT_DEMANDS_ITS_NODE), Invariant.ONE_HOLDER),
                arguments(NODE_CHANGED_BY_HAND.without(Rule.ENDED_BY_HAND_LASTS_TO_ITS_END), Invariant.ONE_HOLDER),
                arguments(NODE_CHANGED_BY_HAND.without(Rule.WITHOUT_NODE_LASTS_A_LEASE), Invariant.ONE_HOLDER),
                arguments(KEPT_FORCED.without(Rule.A_REVIVAL_PROLONGS_NOTHING), Invariant.ONE_HOLDER),
                arguments(KEPT_FORCED.without(Rule.NONE_IS_REVIVED_AFTER_A_RECONCILIATION), Invariant.ONE_HOLDER),
                arguments(
                        KEPT_COMMITS.without(Rule.NONE_IS_KEPT_AFTER_AN_UNKNOWN_COMMIT),
                        Invariant.GUARDED_COMMITS_IN_ORDER),
                arguments(KEPT.without(Rule.A_REVIVED_HOLD_HAS_A_NEW_TOKEN), Invariant.TOKENS_INCREASE),
                arguments(KEPT.without(Rule.A_ROW_IS_CLAIMED_BEFORE_IT_IS_GIVEN_BACK), Invariant.ONE_HOLDER));
    }

    @ParameterizedTest
    @MethodSource("broken")
    void eachBrokenRuleBreaksAPromise(Scenario scenario, Invariant invariant) {
        Result<Invariant> result = explored(scenario);
        System.out.printf("Model: %s: %d states, %s%n", scenario.name(), result.states(), result.violation());
        assertThat(Optional.ofNullable(result.violation()).map(Violation::promise))
                .as(scenario.name())
                .contains(invariant);
    }

    /** Two rules that each would do: neither is missed alone, so the model must not be expected to catch that. */
    @Test
    void aRestartedVersionIsHarmlessWhileTokenAndOwnerAreCompared() {
        assertThat(explored(PURGE.without(Rule.VERSION_NEVER_RESTARTS)).violation())
                .isNull();
    }

    /** As above: what a wrong conclusion leaves behind, the reconciliation frees. */
    @Test
    void theReconciliationFreesWhatALookThatProvedNothingHasLeft() {
        assertThat(explored(LONELY_NODE.without(Rule.A_LOOK_PROVES_NO_ABSENCE)).violation())
                .isNull();
    }
}
