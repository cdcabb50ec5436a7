package io.github.holdfast.faults.model.shares;

import io.github.holdfast.faults.model.Steps;
import io.github.holdfast.faults.model.Steps.Cause;

/** Writes, and what may become of their answers. While a standby is cut off, commits wait for it, unless the wait is cancelled. */
record Writes(Scenario scenario) {

    /** Whether a commit waits for the standby. */
    boolean isStandbyAway(State s) {
        return s.db().copy() != null && scenario.budget().cancellations() > 0;
    }

    /**
     * Adds a write.
     *
     * @param told after the write, if its answer arrives
     * @param untold after the write, if it does not
     */
    void add(String what, int i, State told, State untold, Steps<State> out) {
        Budget budget = untold.budget();
        if (!isStandbyAway(told)) {
            out.add(what, scenario.who(i), Cause.PROGRAM, told);
            if (budget.losses() > 0) {
                out.add(
                        what + ", and has no answer",
                        scenario.who(i),
                        Cause.FAULT,
                        untold.with(budget.losses(budget.losses() - 1)));
            }
        } else if (budget.cancellations() > 0) {
            out.add(
                    what + " on the primary alone, and the wait is cancelled",
                    scenario.who(i),
                    Cause.FAULT,
                    untold.with(budget.cancellations(budget.cancellations() - 1)));
        }
    }

    /** Adds a write whose answer changes nothing. */
    void add(String what, int i, State done, Steps<State> out) {
        Budget budget = done.budget();
        if (!isStandbyAway(done)) {
            out.add(what, scenario.who(i), Cause.PROGRAM, done);
        } else if (budget.cancellations() > 0) {
            out.add(
                    what + " on the primary alone, and the wait is cancelled",
                    scenario.who(i),
                    Cause.FAULT,
                    done.with(budget.cancellations(budget.cancellations() - 1)));
        }
    }
}
