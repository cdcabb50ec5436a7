package io.github.holdfast.faults.model;

import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * What the {@link Explorer} visits.
 *
 * @param <S> a state; equal states are visited once
 * @param <P> a promise
 */
public interface Model<S, P> {

    S initial();

    /** The steps that lead out of a state. */
    List<Steps.Step<S>> steps(S state);

    /** The same state, in a form that is equal for states that differ in nothing that counts. */
    S normalized(S state);

    /** The promise that a state breaks. It depends on the steps that lead out of it, too. */
    Optional<P> broken(S state, List<Steps.Step<S>> steps);

    /** What must be reachable from each state. */
    List<Goal<S, P>> goals();

    /**
     * Certain steps lead from each state to one that is as it should be.
     *
     * @param promise is broken where they do not
     * @param isReached whether a state is as it should be
     * @param counts whether one may rely on a step
     */
    record Goal<S, P>(P promise, Predicate<S> isReached, Predicate<Steps.Step<S>> counts) {}
}
