package io.github.holdfast.faults.model.shares;

import static io.github.holdfast.faults.model.shares.Scenario.exclusive;
import static io.github.holdfast.faults.model.shares.Scenario.permits;
import static io.github.holdfast.faults.model.shares.Scenario.shared;
import static io.github.holdfast.faults.model.shares.Scenario.sharedThroughNode;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.github.holdfast.faults.model.Explorer;
import io.github.holdfast.faults.model.Explorer.Result;
import io.github.holdfast.faults.model.Explorer.Violation;
import io.github.holdfast.faults.model.shares.Attempt.Phase;
import io.github.holdfast.faults.model.shares.Scenario.Mode;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Shared locks and semaphores keep their promises in every state that the model can reach, and do not if a rule is broken. */
@Tag("long")
class SharesModelTest {

    private static final Scenario THREE =
            Scenario.of("two readers and a writer", Budget.ofAcquisitions(4), shared(), shared(), exclusive());

    private static final Scenario COMMITS = Scenario.of(
                    "commits of two readers and a writer, one crash",
                    Budget.ofAcquisitions(3).crashes(1),
                    shared(),
                    shared(),
                    exclusive())
            .withTransactions();

    private static final Scenario LATE = Scenario.of(
            "two readers and a writer, one answer lost",
            Budget.ofAcquisitions(3).losses(1),
            shared(),
            shared(),
            exclusive());

    private static final Scenario RENEWAL = Scenario.of(
            "a reader that renews its lease, and a writer, one answer lost",
            Budget.ofAcquisitions(3).renewals(2).losses(1),
            shared(),
            exclusive());

    private static final Scenario NODE = Scenario.of(
            "a reader through a node and a writer, one crash",
            Budget.ofAcquisitions(3).crashes(1),
            sharedThroughNode(),
            exclusive());

    private static final Scenario LONELY_NODE = Scenario.of(
            "a reader through a node, two answers lost",
            Budget.ofAcquisitions(2).losses(2),
            sharedThroughNode());

    private static final Scenario SERVER_BEHIND = Scenario.of(
            "a reader that renews its lease, and a writer, a server that is behind",
            Budget.ofAcquisitions(3).renewals(1).lags(1),
            shared(),
            exclusive());

    private static final Scenario SYNCHRONOUS = Scenario.of(
            "a reader and a writer, a synchronous standby becomes the primary, two writes cancelled",
            Budget.ofAcquisitions(3).cancellations(2).failovers(1),
            shared(),
            exclusive());

    private static final Scenario DOWNGRADE = Scenario.of(
                    "two writers and a reader, two downgrades, one answer lost",
                    Budget.ofAcquisitions(3).downgrades(2).losses(1),
                    exclusive(),
                    exclusive(),
                    shared())
            .withTransactions();

    private static final Scenario SEMAPHORE = Scenario.of(
                    "three users of a semaphore with two permits",
                    Budget.ofAcquisitions(4),
                    permits(1),
                    permits(1),
                    permits(1))
            .withLimit(2);

    private static final Scenario SEMAPHORE_LATE = Scenario.of(
                    "two users of a semaphore with two permits, one wants both, one answer lost",
                    Budget.ofAcquisitions(3).losses(1),
                    permits(1),
                    permits(2))
            .withLimit(2);

    private static final Scenario SEMAPHORE_RENEWAL = Scenario.of(
                    "three users of a semaphore with two permits, one crash and one renewal",
                    Budget.ofAcquisitions(3).renewals(1).crashes(1),
                    permits(1),
                    permits(1),
                    permits(1))
            .withLimit(2);

    private static final Map<String, Predicate<State>> SIGHTS = Map.of(
            "two share it",
            state -> state.believers()
                            .filter(service -> isHeld(service, Mode.SHARED))
                            .count()
                    > 1,
            "somebody has it alone after a share",
            state -> state.believers().anyMatch(service -> isHeld(service, Mode.EXCLUSIVE))
                    && state.ledger().highestAlone() > 1,
            "the removal of a dead holder waits for a transaction",
            state -> attempts(state, Phase.REMOVING)
                    .flatMap(attempt -> state.db().holder(attempt.target()).stream())
                    .anyMatch(holder -> state.isLocked(holder) && !holder.isPending()),
            "a holder that was seen dead is renewed",
            state -> attempts(state, Phase.REMOVING)
                    .flatMap(attempt -> state.db().holder(attempt.target()).stream())
                    .anyMatch(holder -> !holder.isThroughNode() && holder.left() > 0),
            "a grant matches a later version",
            state -> attempts(state, Phase.PENDING)
                    .anyMatch(attempt ->
                            state.db().row().version() > attempt.basis().version()),
            "a grant without an answer has happened",
            state -> attempts(state, Phase.UNANSWERED)
                    .anyMatch(attempt -> state.db().holderOf(attempt.owner()).isPresent()),
            "a downgrade is on its way",
            state -> state.network().stream().anyMatch(Late.Downgrade.class::isInstance),
            "a server is behind",
            state -> state.db()
                    .copies()
                    .anyMatch(copy -> copy.row().version() < state.db().row().version()));

    private static boolean isHeld(Service service, Mode mode) {
        return service.hold() != null && service.hold().mode() == mode;
    }

    private static Stream<Attempt> attempts(State state, Phase phase) {
        return state.services().stream()
                .flatMap(service -> Optional.ofNullable(service.attempt()).stream())
                .filter(attempt -> attempt.phase() == phase);
    }

    private static Result<Promise> explored(Scenario scenario) {
        return Explorer.explore(new SharesModel(scenario), Map.of());
    }

    static Stream<Arguments> sound() {
        return Stream.of(
                arguments(THREE, 60_000),
                arguments(COMMITS, 30_000),
                arguments(LATE, 100_000),
                arguments(RENEWAL, 30_000),
                arguments(NODE, 40_000),
                arguments(LONELY_NODE, 5_000),
                arguments(SERVER_BEHIND, 10_000),
                arguments(SYNCHRONOUS, 300_000),
                arguments(DOWNGRADE, 250_000),
                arguments(SEMAPHORE, 70_000),
                arguments(SEMAPHORE_LATE, 15_000),
                arguments(SEMAPHORE_RENEWAL, 100_000));
    }

    @ParameterizedTest
    @MethodSource("sound")
    void sharesKeepTheirPromisesInEveryState(Scenario scenario, int atLeast) {
        Result<Promise> result = explored(scenario);
        System.out.printf("Model of shares: %s: %d states%n", scenario.name(), result.states());
        assertThat(result.violation()).as(scenario.name()).isNull();
        assertThat(result.states()).as("states of " + scenario.name()).isGreaterThan(atLeast);
    }

    static Stream<Arguments> broken() {
        return Stream.of(
                arguments(THREE.without(Rule.READ_THE_HOLDERS), Promise.ALONE),
                arguments(THREE.without(Rule.COMPARE_THE_ROW), Promise.ALONE),
                arguments(THREE.without(Rule.NOT_BESIDE_AN_EXCLUSIVE_HOLDER), Promise.ALONE),
                arguments(THREE.without(Rule.RELEASE_NAMES_THE_GRANT), Promise.ALONE),
                arguments(THREE.without(Rule.TOKEN_IN_THE_GRANT), Promise.TOKENS_INCREASE),
                arguments(SERVER_BEHIND.without(Rule.HOLDERS_OF_THE_VERSION), Promise.ALONE),
                arguments(SYNCHRONOUS.without(Rule.ANOTHER_OWNER_EACH), Promise.ALONE),
                arguments(COMMITS.without(Rule.REMOVE_THE_DEAD), Promise.FENCE),
                arguments(COMMITS.without(Rule.GUARD), Promise.FENCE),
                arguments(RENEWAL.without(Rule.REMOVE_THE_DEAD), Promise.ALONE),
                arguments(RENEWAL.without(Rule.COMPARE_THE_LEASE_AGAIN), Promise.ALONE),
                arguments(NODE.without(Rule.END_THE_NODE_FIRST), Promise.ALONE),
                arguments(LONELY_NODE.without(Rule.THE_WINDOW_ENDS), Promise.BECOMES_FREE),
                arguments(LONELY_NODE.without(Rule.SUPERSEDE_THE_WINDOW), Promise.BECOMES_FREE),
                arguments(LONELY_NODE.without(Rule.SETTLE_THE_UNANSWERED), Promise.BECOMES_FREE),
                arguments(DOWNGRADE.without(Rule.DOWNGRADE_COMPARES_THE_GRANT), Promise.ALONE),
                arguments(DOWNGRADE.without(Rule.DOWNGRADE_ADDS_THE_HOLDER), Promise.ALONE),
                arguments(SEMAPHORE.without(Rule.COMPARE_THE_LIMIT_IN_THE_GRANT), Promise.LIMIT),
                arguments(SEMAPHORE.without(Rule.RELEASE_NAMES_THE_GRANT), Promise.LIMIT),
                arguments(SEMAPHORE.without(Rule.TOKEN_IN_THE_GRANT), Promise.TOKENS_INCREASE),
                arguments(SEMAPHORE_RENEWAL.without(Rule.ALL_ROWS_COUNT), Promise.LIMIT),
                arguments(SEMAPHORE_RENEWAL.without(Rule.COMPARE_THE_LEASE_AGAIN), Promise.LIMIT));
    }

    @ParameterizedTest
    @MethodSource("broken")
    void eachBrokenRuleBreaksAPromise(Scenario scenario, Promise promise) {
        Result<Promise> result = explored(scenario);
        System.out.printf("Model of shares: %s: %d states, %s%n", scenario.name(), result.states(), result.violation());
        assertThat(Optional.ofNullable(result.violation()).map(Violation::promise))
                .as(scenario.name())
                .contains(promise);
    }

    @Test
    void theModelReachesWhatItIsMadeFor() {
        assertThat(Stream.of(THREE, COMMITS, RENEWAL, LONELY_NODE, SERVER_BEHIND, DOWNGRADE)
                        .flatMap(scenario -> Explorer.explore(new SharesModel(scenario), SIGHTS).seen().stream())
                        .collect(Collectors.toSet()))
                .isEqualTo(SIGHTS.keySet());
    }
}
