package io.github.holdfast.faults.model;

import io.github.holdfast.faults.model.Model.Goal;
import io.github.holdfast.faults.model.Steps.Step;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Visits every state that a model can reach, breadth first, so that the first violation has a shortest trace. Whether the goals
 * are reached is judged at the end: a state from which no steps that count lead to a goal is stuck for ever.
 *
 * @param <S> a state
 * @param <P> a promise
 */
public final class Explorer<S, P> {

    /** More than that is a mistake in a scenario. */
    private static final int TOO_MANY = 3_000_000;

    /**
     * What came out.
     *
     * @param states how many states there are, as far as they were visited
     * @param violation the first one; null if there is none
     * @param seen those of the sights that were seen
     */
    public record Result<P>(int states, @Nullable Violation<P> violation, Set<String> seen) {}

    /** A promise that is not kept, and a shortest way there. */
    public record Violation<P>(P promise, List<String> trace) {
        @Override
        public String toString() {
            return promise + " is broken:\n  " + String.join("\n  ", trace);
        }
    }

    private final Model<S, P> model;
    private final Map<String, Predicate<S>> sights;
    private final Set<String> seen = new HashSet<>();
    private final Map<S, Integer> numbers = new HashMap<>();
    private final List<S> states = new ArrayList<>();
    private final Edges cameFrom = new Edges();
    private final List<Goal<S, P>> goals;
    private final List<Edges> counting;

    private Explorer(Model<S, P> model, Map<String, Predicate<S>> sights) {
        this.model = model;
        this.sights = sights;
        this.goals = model.goals();
        this.counting = goals.stream().map(goal -> new Edges()).toList();
    }

    /**
     * Explores a model.
     *
     * @param sights states to look out for, so that a model in which nothing happens is noticed
     */
    public static <S, P> Result<P> explore(Model<S, P> model, Map<String, Predicate<S>> sights) {
        return new Explorer<>(model, sights).explored();
    }

    private Result<P> explored() {
        number(model.normalized(model.initial()), 0);
        for (int current = 0; current < states.size(); current++) {
            S state = states.get(current);
            List<Step<S>> steps = model.steps(state);
            Optional<P> broken = model.broken(state, steps);
            if (broken.isPresent()) {
                return new Result<>(states.size(), new Violation<>(broken.get(), trace(current)), seen);
            }
            sights.forEach((what, sight) -> {
                if (!seen.contains(what) && sight.test(state)) {
                    seen.add(what);
                }
            });
            for (Step<S> step : steps) {
                int next = number(model.normalized(step.to()), current);
                addEdges(step, current, next);
            }
            if (states.size() > TOO_MANY) {
                throw new IllegalStateException("More than " + TOO_MANY + " states");
            }
        }
        return new Result<>(states.size(), stuck(), seen);
    }

    private void addEdges(Step<S> step, int from, int to) {
        for (int i = 0; i < goals.size(); i++) {
            if (goals.get(i).counts().test(step)) {
                counting.get(i).add(from, to);
            }
        }
    }

    private int number(S state, int from) {
        Integer known = numbers.putIfAbsent(state, states.size());
        if (known != null) {
            return known;
        }
        states.add(state);
        cameFrom.add(from, states.size() - 1);
        return states.size() - 1;
    }

    private @Nullable Violation<P> stuck() {
        for (int i = 0; i < goals.size(); i++) {
            int stuck = stuck(goals.get(i), counting.get(i));
            if (stuck < states.size()) {
                return new Violation<>(goals.get(i).promise(), trace(stuck));
            }
        }
        return null;
    }

    /** The first state from which the goal is not reached; as many as there are states if there is none. */
    private int stuck(Goal<S, P> goal, Edges edges) {
        BitSet reaches = new BitSet(states.size());
        ArrayDeque<Integer> toVisit = new ArrayDeque<>();
        IntStream.range(0, states.size())
                .filter(i -> goal.isReached().test(states.get(i)))
                .forEach(i -> {
                    reaches.set(i);
                    toVisit.add(i);
                });
        int[][] before = edges.backwards(states.size());
        while (!toVisit.isEmpty()) {
            for (int from : before[toVisit.remove()]) {
                if (!reaches.get(from)) {
                    reaches.set(from);
                    toVisit.add(from);
                }
            }
        }
        return reaches.nextClearBit(0);
    }

    private List<String> trace(int to) {
        List<String> trace = new ArrayList<>();
        trace.add("=> " + states.get(to));
        for (int at = to; at != 0; at = cameFrom.from(at)) {
            S reached = states.get(at);
            Step<S> step = model.steps(states.get(cameFrom.from(at))).stream()
                    .filter(candidate -> model.normalized(candidate.to()).equals(reached))
                    .findFirst()
                    .orElseThrow();
            trace.add(step.toString());
        }
        Collections.reverse(trace);
        return trace;
    }
}
