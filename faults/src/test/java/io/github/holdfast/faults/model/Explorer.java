package io.github.holdfast.faults.model;

import io.github.holdfast.faults.model.Seen.Standing;
import io.github.holdfast.faults.model.Steps.Step;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Visits every state that a scenario can reach, breadth first, so that the first violation has a shortest trace. Whether the lock
 * becomes free is judged at the end: a state from which no steps without a fault lead to a free lock is stuck for ever.
 */
final class Explorer {

    /** More than that is a mistake in a scenario. */
    private static final int TOO_MANY = 3_000_000;

    /** What came out: how many states there are, and the first violation. */
    record Result(int states, @Nullable Violation violation) {}

    /** An invariant that does not hold, and a shortest way there. */
    record Violation(Invariant invariant, List<String> trace) {
        @Override
        public String toString() {
            return invariant + " is broken:\n  " + String.join("\n  ", trace);
        }
    }

    private final Scenario scenario;
    private final Acquiring acquiring;
    private final Settling settling;
    private final Holding holding;
    private final RowLocking rowLocking;
    private final Reconciling reconciling;
    private final Heartbeats heartbeats;
    private final Network network;
    private final Operators operators;
    private final Failovers failovers;
    private final Faults faults;

    private final Map<State, Integer> numbers = new HashMap<>();
    private final List<State> states = new ArrayList<>();
    private final Edges cameFrom = new Edges();
    private final Edges reliable = new Edges();

    private Explorer(Scenario scenario) {
        this.scenario = scenario;
        Adopting adopting = new Adopting(scenario);
        acquiring = new Acquiring(scenario, adopting);
        settling = new Settling(scenario);
        holding = new Holding(scenario);
        rowLocking = new RowLocking(scenario);
        reconciling = new Reconciling(scenario);
        heartbeats = new Heartbeats(scenario, reconciling);
        network = new Network(scenario, acquiring);
        operators = new Operators(scenario);
        failovers = new Failovers(scenario);
        faults = new Faults(scenario, acquiring, adopting);
    }

    static Result explore(Scenario scenario) {
        return new Explorer(scenario).explored(State.initial(scenario));
    }

    private Result explored(State initial) {
        number(initial, 0);
        for (int current = 0; current < states.size(); current++) {
            State state = states.get(current);
            Optional<Invariant> broken = broken(state);
            if (broken.isPresent()) {
                return new Result(states.size(), new Violation(broken.get(), trace(current)));
            }
            for (Step step : steps(state)) {
                int next = number(normalized(step.to()), current);
                if (!step.isFault()) {
                    reliable.add(current, next);
                }
            }
            if (states.size() > TOO_MANY) {
                throw new IllegalStateException("More than " + TOO_MANY + " states");
            }
        }
        return new Result(states.size(), stuck());
    }

    private State normalized(State state) {
        State normalized = state.normalized();
        return scenario.keeps(Rule.VERSION_NEVER_RESTARTS) ? normalized.withoutStaleGrants() : normalized;
    }

    private int number(State state, int from) {
        Integer known = numbers.putIfAbsent(state, states.size());
        if (known != null) {
            return known;
        }
        states.add(state);
        cameFrom.add(from, states.size() - 1);
        return states.size() - 1;
    }

    private List<Step> steps(State state) {
        Steps steps = new Steps();
        for (int i = 0; i < state.services().size(); i++) {
            acquiring.steps(state, i, steps);
            settling.steps(state, i, steps);
            holding.steps(state, i, steps);
            rowLocking.steps(state, i, steps);
            heartbeats.steps(state, i, steps);
            reconciling.steps(state, i, steps);
            faults.steps(state, i, steps);
        }
        network.steps(state, steps);
        operators.steps(state, steps);
        failovers.steps(state, steps);
        faults.steps(state, steps);
        return steps.list();
    }

    private static Optional<Invariant> broken(State state) {
        if (state.services().stream().filter(Service::believes).count() > 1) {
            return Optional.of(Invariant.ONE_HOLDER);
        }
        return Optional.ofNullable(state.ledger().broken());
    }

    private boolean isFree(State state) {
        Standing standing = Seen.of(state.db()).standing(LockRow.NOBODY, scenario.tolerance());
        return (standing == Standing.FREE || standing == Standing.MISSING) && !state.isRowLocked();
    }

    private @Nullable Violation stuck() {
        BitSet becomesFree = new BitSet(states.size());
        ArrayDeque<Integer> toVisit = new ArrayDeque<>();
        IntStream.range(0, states.size()).filter(i -> isFree(states.get(i))).forEach(i -> {
            becomesFree.set(i);
            toVisit.add(i);
        });
        int[][] before = reliable.backwards(states.size());
        while (!toVisit.isEmpty()) {
            for (int from : before[toVisit.remove()]) {
                if (!becomesFree.get(from)) {
                    becomesFree.set(from);
                    toVisit.add(from);
                }
            }
        }
        int stuck = becomesFree.nextClearBit(0);
        return stuck == states.size() ? null : new Violation(Invariant.BECOMES_FREE, trace(stuck));
    }

    private List<String> trace(int to) {
        List<String> trace = new ArrayList<>();
        trace.add("=> " + states.get(to));
        for (int at = to; at != 0; at = cameFrom.from(at)) {
            State reached = states.get(at);
            Step step = steps(states.get(cameFrom.from(at))).stream()
                    .filter(candidate -> normalized(candidate.to()).equals(reached))
                    .findFirst()
                    .orElseThrow();
            trace.add(step.toString());
        }
        Collections.reverse(trace);
        return trace;
    }
}
