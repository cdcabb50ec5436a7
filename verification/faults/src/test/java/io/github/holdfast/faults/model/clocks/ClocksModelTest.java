package io.github.holdfast.faults.model.clocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.github.holdfast.faults.model.Explorer;
import io.github.holdfast.faults.model.Explorer.Result;
import io.github.holdfast.faults.model.Explorer.Violation;
import io.github.holdfast.faults.model.clocks.ClocksModel.Promise;
import io.github.holdfast.faults.model.clocks.Scenario.Chance;
import io.github.holdfast.faults.model.clocks.Scenario.Clocks;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** A lock without a lease has one holder whatever the clocks of the servers say, and not if a rule is broken. */
@Tag("long")
class ClocksModelTest {

    private static final Scenario CRASH = Scenario.of("many clocks, and one crash", Clocks.MANY, Chance.CRASH);

    private static final Scenario RESTART = Scenario.of("many clocks, and one restart", Clocks.MANY, Chance.RESTART);

    private static final Scenario LOSS = Scenario.of("many clocks, and one answer lost", Clocks.MANY, Chance.LOSS);

    private static final Scenario LAG =
            Scenario.of("many clocks, and a server that is behind", Clocks.MANY, Chance.LAG, Chance.LAG);

    private static final Scenario RATE =
            Scenario.of("many clocks, and a clock that is faster", Clocks.MANY, Chance.RATE);

    private static final Scenario FAILOVER = Scenario.of("many clocks, and a failover", Clocks.MANY, Chance.FAILOVER);

    private static final Scenario STEP =
            Scenario.of("one clock, which is set, and one crash", Clocks.ONE, Chance.CRASH, Chance.CLOCK_STEP);

    static Stream<Arguments> sound() {
        return Stream.of(
                arguments(CRASH, 30_000),
                arguments(LOSS, 120_000),
                arguments(LAG, 70_000),
                arguments(RATE, 60_000),
                arguments(FAILOVER, 60_000),
                arguments(STEP, 290_000));
    }

    @ParameterizedTest
    @MethodSource("sound")
    void theLockHasOneHolderInEveryState(Scenario scenario, int atLeast) {
        Result<Promise> result = explored(scenario);
        System.out.printf("Model: %s: %d states%n", scenario.name(), result.states());
        assertThat(result.violation()).as(scenario.name()).isNull();
        assertThat(result.states()).as("states of " + scenario.name()).isGreaterThan(atLeast);
    }

    /** A million states, and a minute. */
    @Test
    @Tag("nightly")
    void theLockHasOneHolderAfterARestart() {
        assertThat(explored(RESTART).violation()).isNull();
    }

    static Stream<Arguments> broken() {
        return Stream.of(
                arguments(CRASH.without(Rule.OBSERVE)),
                arguments(CRASH.without(Rule.BEGIN_AGAIN_WHEN_IT_MOVES)),
                arguments(CRASH.without(Rule.BEGIN_WITH_THE_ANSWER)),
                arguments(CRASH.without(Rule.ONLY_OWN_OBSERVATIONS)),
                arguments(CRASH.without(Rule.COMPARE_THE_COUNTER)),
                arguments(LAG.without(Rule.COMPARE_THE_COUNTER)),
                arguments(RESTART.without(Rule.ANOTHER_NODE_FOR_EACH_LIFE)),
                arguments(CRASH.without(Rule.PROLONG_FROM_BEFORE_THE_BEAT)),
                arguments(RATE.without(Rule.HEED_THE_RATE)),
                arguments(FAILOVER.without(Rule.ANOTHER_COUNTER_FOR_EACH_BEAT)),
                arguments(FAILOVER.without(Rule.KEEP_WHAT_WAS_ANSWERED)),
                arguments(STEP.without(Rule.READ_THE_CLOCK_BEFORE)),
                arguments(STEP.without(Rule.HEED_A_STEP)),
                arguments(STEP.without(Rule.HEED_A_STEP_FOR_A_LEASE)));
    }

    @ParameterizedTest
    @MethodSource("broken")
    void eachBrokenRuleGivesTwoHolders(Scenario scenario) {
        Result<Promise> result = explored(scenario);
        System.out.printf("Model: %s: %d states, %s%n", scenario.name(), result.states(), result.violation());
        assertThat(Optional.ofNullable(result.violation()).map(Violation::promise))
                .as(scenario.name())
                .contains(Promise.ONE_HOLDER);
    }

    private static Result<Promise> explored(Scenario scenario) {
        return Explorer.explore(new ClocksModel(scenario), Map.of());
    }
}
