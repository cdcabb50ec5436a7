package io.github.holdfast.faults.model.shares;

import io.github.holdfast.faults.model.Model;
import io.github.holdfast.faults.model.Steps;
import io.github.holdfast.faults.model.Steps.Cause;
import io.github.holdfast.faults.model.Steps.Step;
import io.github.holdfast.faults.model.shares.Database.Standing;
import java.util.List;
import java.util.Optional;

/** The protocol of the shared locks and of the semaphores, in one scenario. */
final class SharesModel implements Model<State, Promise> {

    private final Scenario scenario;
    private final Sharing sharing;
    private final Taking taking;
    private final Settling settling;
    private final Holding holding;
    private final Heartbeats heartbeats;
    private final Faults faults;

    SharesModel(Scenario scenario) {
        this.scenario = scenario;
        Writes writes = new Writes(scenario);
        Clearing clearing = new Clearing(scenario, writes);
        sharing = new Sharing(scenario, writes, clearing);
        taking = new Taking(scenario, writes, clearing);
        settling = new Settling(scenario, writes, sharing);
        Downgrading downgrading = new Downgrading(scenario, writes);
        holding = new Holding(scenario, writes, settling, downgrading);
        heartbeats = new Heartbeats(scenario, writes);
        faults = new Faults(scenario, writes, sharing, taking, downgrading);
    }

    @Override
    public State initial() {
        return State.initial(scenario);
    }

    @Override
    public State normalized(State state) {
        return state.normalized(scenario);
    }

    @Override
    public List<Step<State>> steps(State state) {
        Steps<State> steps = new Steps<>();
        for (int i = 0; i < state.services().size(); i++) {
            acquire(state, i, steps);
            settling.steps(state, i, steps);
            holding.steps(state, i, steps);
            heartbeats.steps(state, i, steps);
            faults.steps(state, i, steps);
        }
        faults.steps(state, steps);
        return steps.list();
    }

    private void acquire(State s, int i, Steps<State> out) {
        Service me = s.service(i);
        Attempt attempt = me.attempt();
        int left = s.budget().acquisitions();
        if (attempt != null && scenario.isShared(i)) {
            sharing.steps(s, i, attempt, out);
        } else if (attempt != null) {
            taking.steps(s, i, attempt, out);
        } else if (me.isIdle() && left > 0) {
            out.add(
                    "begins to acquire",
                    scenario.who(i),
                    Cause.USER,
                    s.with(i, Attempt.begun(left)).with(s.budget().lessAcquisition()));
        }
    }

    @Override
    public Optional<Promise> broken(State state, List<Step<State>> steps) {
        List<Hold> believed = state.believers().map(Service::hold).toList();
        if (believed.size() > 1 && believed.stream().anyMatch(hold -> !hold.isShared())) {
            return Optional.of(Promise.ALONE);
        }
        if (scenario.isOfSemaphore()
                && believed.stream().mapToInt(Hold::permits).sum() > scenario.limit()) {
            return Optional.of(Promise.LIMIT);
        }
        return Optional.ofNullable(state.ledger().broken());
    }

    @Override
    public List<Goal<State, Promise>> goals() {
        return List.of(new Goal<>(Promise.BECOMES_FREE, SharesModel::isFree, step -> !step.isFault()));
    }

    private static boolean isFree(State state) {
        Database db = state.db();
        boolean isLeft = !db.row().is(LockRow.State.EXCLUSIVE) || db.row().isLeft();
        return isLeft
                && !state.isRowLocked()
                && db.holders().stream()
                        .allMatch(holder -> db.standing(holder) == Standing.DEAD && !state.isLocked(holder));
    }
}
