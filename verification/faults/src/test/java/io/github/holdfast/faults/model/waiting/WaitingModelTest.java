package io.github.holdfast.faults.model.waiting;

import static io.github.holdfast.faults.model.waiting.Scenario.fair;
import static io.github.holdfast.faults.model.waiting.Scenario.notFair;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.github.holdfast.faults.model.Explorer;
import io.github.holdfast.faults.model.Explorer.Result;
import io.github.holdfast.faults.model.Explorer.Violation;
import io.github.holdfast.faults.model.waiting.Caller.Note;
import io.github.holdfast.faults.model.waiting.Caller.Phase;
import io.github.holdfast.faults.model.waiting.Scenario.Budget;
import io.github.holdfast.faults.model.waiting.Service.Releases;
import io.github.holdfast.faults.model.waiting.Service.What;
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

/** Waiting keeps its promises in every state that the model can reach, and does not if one of its rules is broken. */
@Tag("long")
class WaitingModelTest {

    private static final Budget REQUESTS = Budget.ofRequests(3);

    private static final Scenario NOT_FAIR =
            Scenario.of("two threads, one gives up", REQUESTS.departures(1), notFair(0), notFair(1));

    private static final Scenario NOT_FAIR_CRASH =
            Scenario.of("two threads, one crash", REQUESTS.crashes(1), notFair(0), notFair(1));

    private static final Scenario NOT_FAIR_STRAY = Scenario.of(
                    "two threads, a stray ticket", REQUESTS, notFair(0), notFair(1))
            .withStray(notFair(1));

    private static final Scenario MIXED =
            Scenario.of("a fair thread and one that is not, one gives up", REQUESTS.departures(1), fair(0), notFair(1));

    private static final Scenario FAIR =
            Scenario.of("two fair threads, one gives up", REQUESTS.departures(1), fair(0), fair(1));

    private static final Scenario FAIR_CRASH =
            Scenario.of("two fair threads, one crash", REQUESTS.crashes(1), fair(0), fair(1));

    private static final Scenario FAIR_PAUSE =
            Scenario.of("two fair threads, one pause", REQUESTS.pauses(1), fair(0), fair(1));

    private static final Scenario FAIR_LOSS = Scenario.of(
            "two fair threads, two requests, one answer lost",
            Budget.ofRequests(2).losses(1),
            fair(0),
            fair(1));

    private static final Scenario FAIR_STRAY = Scenario.of(
                    "two fair threads, two requests, a stray ticket in the queue",
                    Budget.ofRequests(2),
                    fair(0),
                    fair(1))
            .withStray(fair(1));

    private static final Scenario FAIR_NEIGHBOURS =
            Scenario.of("two fair threads of one service, and one of another", REQUESTS, fair(0), fair(0), fair(1));

    private static final Scenario NOT_FAIR_BUSY = Scenario.of(
            "two threads, a busy service, one gives up", REQUESTS.answers(1).departures(1), notFair(0), notFair(1));

    private static final Scenario FAIR_BUSY =
            Scenario.of("two fair threads, busy services", REQUESTS.answers(2), fair(0), fair(1));

    /** Only for broken rules. */
    private static final Scenario NOT_FAIR_THREE =
            Scenario.of("three threads, one gives up", REQUESTS.departures(1), notFair(0), notFair(1), notFair(2));

    /** As above. */
    private static final Scenario NOT_FAIR_OTHER_STRAY = Scenario.of(
                    "two threads, a stray ticket of a third service", REQUESTS, notFair(0), notFair(1))
            .withStray(notFair(2));

    /** As above. */
    private static final Scenario FAIR_THREE_STRAY = Scenario.of(
                    "three fair threads, a stray ticket", REQUESTS, fair(0), fair(1), fair(2))
            .withStray(notFair(1));

    /** As above. */
    private static final Scenario FAIR_LOSS_AND_DEPARTURE = Scenario.of(
            "two fair threads, one answer lost, one gives up",
            REQUESTS.losses(1).departures(1),
            fair(0),
            fair(1));

    private static final String RUNG = "a waiter is rung";
    private static final String TWO_TICKETS = "two tickets count";
    private static final String IN_VAIN = "a waiter that was rung loses the race";
    private static final String PASSED_ON = "a ring is passed on";
    private static final String GHOST = "a ticket of nobody is the first";
    private static final String STRAY_RUNG = "a service is rung for which nobody waits";

    private static final String UNASKED = "a service waits while another one does not ask";

    private static final Map<String, Predicate<State>> SIGHTS = Map.of(
            UNASKED, WaitingModelTest::isAnyOverlooked,
            RUNG, state -> state.callers().stream().anyMatch(caller -> caller.has(Note.NOTIFIED)),
            TWO_TICKETS, state -> state.tickets().stream().filter(state::counts).count() > 1,
            IN_VAIN, state -> state.callers().stream().anyMatch(caller -> caller.is(Phase.TURNED_AWAY)),
            PASSED_ON, state -> hasTask(state, What.RING_NEXT),
            GHOST, State::isGhostFirst,
            STRAY_RUNG, state -> hasTask(state, What.CHECK_STRAY));

    private static boolean hasTask(State state, What what) {
        return state.services().stream()
                .anyMatch(service -> service.background().stream().anyMatch(task -> task.what() == what));
    }

    private static boolean isAnyOverlooked(State state) {
        return state.services().stream().anyMatch(service -> service.releases() == Releases.DO_NOT_ASK)
                && state.services().stream().anyMatch(service -> service.isMarked() && !service.isNoticed());
    }

    private static Result<Promise> explored(Scenario scenario) {
        return Explorer.explore(new WaitingModel(scenario), Map.of());
    }

    static Stream<Arguments> sound() {
        return Stream.of(
                arguments(NOT_FAIR, 5_000),
                arguments(NOT_FAIR_CRASH, 5_000),
                arguments(NOT_FAIR_STRAY, 7_000),
                arguments(MIXED, 5_000),
                arguments(FAIR, 25_000),
                arguments(FAIR_CRASH, 15_000),
                arguments(FAIR_PAUSE, 80_000),
                arguments(FAIR_LOSS, 6_000),
                arguments(FAIR_STRAY, 150_000),
                arguments(FAIR_NEIGHBOURS, 50_000),
                arguments(NOT_FAIR_BUSY, 40_000),
                arguments(FAIR_BUSY, 250_000));
    }

    @ParameterizedTest
    @MethodSource("sound")
    void waitingKeepsItsPromisesInEveryState(Scenario scenario, int atLeast) {
        Result<Promise> result = explored(scenario);
        System.out.printf("Model of waiting: %s: %d states%n", scenario.name(), result.states());
        assertThat(result.violation()).as(scenario.name()).isNull();
        assertThat(result.states()).as("states of " + scenario.name()).isGreaterThan(atLeast);
    }

    static Stream<Arguments> broken() {
        return Stream.of(
                arguments(NOT_FAIR.without(Rule.COMPARE_THE_VERSION), Promise.ONE_HOLDER),
                arguments(FAIR.without(Rule.CHECK_THE_QUEUE), Promise.ORDER_OF_ARRIVAL),
                arguments(FAIR.without(Rule.ROW_BEFORE_QUEUE), Promise.ORDER_OF_ARRIVAL),
                arguments(NOT_FAIR.without(Rule.LOOK_AFTER_TICKET), Promise.NO_LOST_WAKE_UP),
                arguments(NOT_FAIR_STRAY.without(Rule.LOOK_AFTER_EACH_TICKET), Promise.NO_LOST_WAKE_UP),
                arguments(NOT_FAIR_STRAY.without(Rule.PLACE_AGAIN_AFTER_REMOVAL), Promise.NO_LOST_WAKE_UP),
                arguments(NOT_FAIR.without(Rule.RING_ON_RELEASE), Promise.NO_LOST_WAKE_UP),
                arguments(FAIR_NEIGHBOURS.without(Rule.WAKE_OWN), Promise.NO_LOST_WAKE_UP),
                arguments(NOT_FAIR_THREE.without(Rule.PASS_THE_RING_ON), Promise.NO_LOST_WAKE_UP),
                arguments(NOT_FAIR_OTHER_STRAY.without(Rule.PASS_ON_WHAT_NOBODY_WAITS_FOR), Promise.NO_LOST_WAKE_UP),
                arguments(FAIR_THREE_STRAY.without(Rule.PASS_ON_WHAT_A_NEWCOMER_CANNOT_USE), Promise.NO_LOST_WAKE_UP),
                arguments(FAIR_LOSS_AND_DEPARTURE.without(Rule.RING_WHEN_LEAVING_THE_QUEUE), Promise.NO_LOST_WAKE_UP),
                arguments(FAIR.without(Rule.LEAVE_AFTER_THE_GRANT), Promise.NO_LOST_WAKE_UP),
                arguments(NOT_FAIR_BUSY.without(Rule.POLL_UNTIL_NOTICED), Promise.NO_LOST_WAKE_UP),
                arguments(NOT_FAIR_BUSY.without(Rule.LOOK_WHEN_NOTICED), Promise.NO_LOST_WAKE_UP),
                arguments(NOT_FAIR_BUSY.without(Rule.COUNT_FROM_THE_QUERY), Promise.NO_LOST_WAKE_UP),
                arguments(FAIR_CRASH.without(Rule.MARKS_END), Promise.WAITERS_ARE_SERVED),
                arguments(NOT_FAIR_CRASH.without(Rule.POLL), Promise.WAITERS_ARE_SERVED),
                arguments(FAIR_STRAY.without(Rule.REMOVE_STRAY), Promise.WAITERS_ARE_SERVED),
                arguments(FAIR_STRAY.without(Rule.RING_THE_FIRST), Promise.WAITERS_ARE_SERVED));
    }

    @ParameterizedTest
    @MethodSource("broken")
    void eachBrokenRuleBreaksAPromise(Scenario scenario, Promise promise) {
        Result<Promise> result = explored(scenario);
        System.out.printf(
                "Model of waiting: %s: %d states, %s%n", scenario.name(), result.states(), result.violation());
        assertThat(Optional.ofNullable(result.violation()).map(Violation::promise))
                .as(scenario.name())
                .contains(promise);
    }

    /** Its own tickets are removed when nobody waits for them, and the ring is passed on. */
    @Test
    void aReleaseThatMayRingItsOwnServiceIsHarmlessWhileRingsArePassedOn() {
        assertThat(explored(NOT_FAIR.without(Rule.RING_OTHERS)).violation()).isNull();
    }

    @Test
    void theModelReachesWhatItIsMadeFor() {
        assertThat(Stream.of(NOT_FAIR, FAIR, NOT_FAIR_BUSY)
                        .flatMap(scenario -> Explorer.explore(new WaitingModel(scenario), SIGHTS).seen().stream())
                        .collect(Collectors.toSet()))
                .isEqualTo(SIGHTS.keySet());
    }
}
