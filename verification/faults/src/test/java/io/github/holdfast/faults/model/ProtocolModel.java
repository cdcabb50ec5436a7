package io.github.holdfast.faults.model;

import io.github.holdfast.faults.model.Seen.Standing;
import io.github.holdfast.faults.model.Steps.Step;
import java.util.List;
import java.util.Optional;

/** The protocol of the locks, in one scenario. */
final class ProtocolModel implements Model<State, Invariant> {

    private final Scenario scenario;
    private final Acquiring acquiring;
    private final Settling settling;
    private final Holding holding;
    private final Keeping keeping;
    private final RowLocking rowLocking;
    private final Reconciling reconciling;
    private final Heartbeats heartbeats;
    private final Network network;
    private final Operators operators;
    private final Failovers failovers;
    private final Faults faults;

    ProtocolModel(Scenario scenario) {
        this.scenario = scenario;
        Adopting adopting = new Adopting(scenario);
        acquiring = new Acquiring(scenario, adopting);
        settling = new Settling(scenario);
        holding = new Holding(scenario);
        keeping = new Keeping(scenario);
        rowLocking = new RowLocking(scenario);
        reconciling = new Reconciling(scenario);
        heartbeats = new Heartbeats(scenario, reconciling);
        network = new Network(scenario, acquiring);
        operators = new Operators(scenario);
        failovers = new Failovers(scenario);
        faults = new Faults(scenario, acquiring, adopting);
    }

    @Override
    public State initial() {
        return State.initial(scenario);
    }

    @Override
    public State normalized(State state) {
        State normalized = state.normalized();
        return scenario.keeps(Rule.VERSION_NEVER_RESTARTS) ? normalized.withoutStaleGrants() : normalized;
    }

    @Override
    public List<Step<State>> steps(State state) {
        Steps<State> steps = new Steps<>();
        for (int i = 0; i < state.services().size(); i++) {
            acquiring.steps(state, i, steps);
            settling.steps(state, i, steps);
            holding.steps(state, i, steps);
            keeping.steps(state, i, steps);
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

    @Override
    public Optional<Invariant> broken(State state, List<Step<State>> steps) {
        if (state.services().stream().filter(Service::believes).count() > 1) {
            return Optional.of(Invariant.ONE_HOLDER);
        }
        return Optional.ofNullable(state.ledger().broken());
    }

    @Override
    public List<Goal<State, Invariant>> goals() {
        return List.of(new Goal<>(Invariant.BECOMES_FREE, this::isFree, step -> !step.isFault()));
    }

    private boolean isFree(State state) {
        Standing standing = Seen.of(state.db()).standing(LockRow.NOBODY, scenario.tolerance());
        return (standing == Standing.FREE || standing == Standing.MISSING) && !state.isRowLocked();
    }
}
