package io.github.holdfast.faults.model.waiting;

import io.github.holdfast.faults.model.Model;
import io.github.holdfast.faults.model.Steps;
import io.github.holdfast.faults.model.Steps.Cause;
import io.github.holdfast.faults.model.Steps.Step;
import io.github.holdfast.faults.model.waiting.Caller.Phase;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** The waiting for a lock, in one scenario. */
final class WaitingModel implements Model<State, Promise> {

    private final Scenario scenario;
    private final Waiters waiters;
    private final Acquiring acquiring;
    private final Pausing pausing;
    private final Holding holding;
    private final Ringing ringing;
    private final Faults faults;

    WaitingModel(Scenario scenario) {
        this.scenario = scenario;
        waiters = new Waiters(scenario);
        pausing = new Pausing(scenario, waiters);
        holding = new Holding(scenario, waiters);
        acquiring = new Acquiring(scenario, waiters, pausing, holding);
        ringing = new Ringing(scenario, waiters);
        faults = new Faults(scenario, waiters);
    }

    @Override
    public State initial() {
        return State.initial(scenario);
    }

    @Override
    public State normalized(State state) {
        return noticed(withoutUselessMarks(state)).normalized();
    }

    /** Without a last look, a service relies on rings as soon as it may. */
    private State noticed(State state) {
        if (scenario.budget().answers() > 0 && scenario.keeps(Rule.LOOK_WHEN_NOTICED)) {
            return state;
        }
        State noticed = state;
        for (int service = 0; service < state.services().size(); service++) {
            Service own = state.service(service);
            if (own.isMarked() && !own.isNoticed() && waiters.isNoticed(state, service)) {
                noticed = noticed.with(service, Service::noticed);
            }
        }
        return noticed;
    }

    /** A mark counts only with a ticket. */
    private State withoutUselessMarks(State state) {
        State marked = state;
        for (int i = 0; i < state.services().size(); i++) {
            int service = i;
            if (state.service(i).isMarked()
                    && state.callers().stream().noneMatch(Caller::isWaiting)
                    && Stream.concat(state.tickets().stream(), state.lateInserts().stream())
                            .noneMatch(ticket -> ticket.service() == service)) {
                marked = marked.with(service, Service::unmarked);
            }
        }
        return marked;
    }

    @Override
    public List<Step<State>> steps(State state) {
        Steps<State> steps = new Steps<>();
        state.threads().forEach(t -> {
            acquiring.steps(state, t, steps);
            pausing.steps(state, t, steps);
            holding.steps(state, t, steps);
        });
        IntStream.range(0, state.services().size()).forEach(service -> {
            ringing.steps(state, service, steps);
            faults.steps(state, service, steps);
        });
        faults.steps(state, steps);
        return steps.list();
    }

    @Override
    public Optional<Promise> broken(State state, List<Step<State>> steps) {
        if (state.callers().stream().filter(Caller::believes).count() > 1) {
            return Optional.of(Promise.ONE_HOLDER);
        }
        if (state.isOutOfOrder()) {
            return Optional.of(Promise.ORDER_OF_ARRIVAL);
        }
        boolean isQuiet = steps.stream().noneMatch(step -> step.cause() == Cause.PROGRAM);
        return isQuiet && isWakeUpLost(state) ? Optional.of(Promise.NO_LOST_WAKE_UP) : Optional.empty();
    }

    private boolean isWakeUpLost(State state) {
        return state.isFree()
                && !state.isExcused()
                && state.threads()
                        .anyMatch(t -> state.caller(t).is(Phase.SLEEPING)
                                && !(scenario.threads().get(t).isFair() && state.isGhostFirst()));
    }

    @Override
    public List<Goal<State, Promise>> goals() {
        return List.of(
                new Goal<>(
                        Promise.WAITERS_ARE_SERVED,
                        state -> state.isFree() && isNobodyActive(state),
                        step -> step.cause() == Cause.PROGRAM || step.cause() == Cause.TIME),
                new Goal<>(Promise.NO_TICKET_IS_LEFT, WaitingModel::isTidy, step -> !step.isFault()));
    }

    private static boolean isNobodyActive(State state) {
        return state.callers().stream().allMatch(caller -> caller.is(Phase.IDLE) || caller.is(Phase.GONE));
    }

    private static boolean isTidy(State state) {
        return isNobodyActive(state)
                && state.lateInserts().isEmpty()
                && state.lateDeletes().isEmpty()
                && state.services().stream()
                        .allMatch(service -> service.background().isEmpty())
                && state.tickets().stream()
                        .noneMatch(ticket -> state.service(ticket.service()).isAlive());
    }
}
