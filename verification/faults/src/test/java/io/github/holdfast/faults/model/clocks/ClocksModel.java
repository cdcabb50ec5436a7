package io.github.holdfast.faults.model.clocks;

import io.github.holdfast.faults.model.Model;
import io.github.holdfast.faults.model.Steps;
import io.github.holdfast.faults.model.Steps.Cause;
import io.github.holdfast.faults.model.Steps.Step;
import io.github.holdfast.faults.model.clocks.ClocksModel.Promise;
import io.github.holdfast.faults.model.clocks.Scenario.Budget;
import io.github.holdfast.faults.model.clocks.Scenario.Chance;
import io.github.holdfast.faults.model.clocks.Scenario.Clocks;
import io.github.holdfast.faults.model.clocks.Service.Beat;
import io.github.holdfast.faults.model.clocks.Service.LocalNode;
import io.github.holdfast.faults.model.clocks.Service.Phase;
import java.util.List;
import java.util.Optional;

/** Nodes that beat, and services that end the nodes of others, in one scenario. */
final class ClocksModel implements Model<State, Promise> {

    /** What must hold. */
    enum Promise {
        /** At most one service believes to hold the lock. */
        ONE_HOLDER,

        /** From every state, steps without a fault lead to one in which the lock is free. */
        BECOMES_FREE
    }

    /** The service that beats. The other one observes: its own node is not kept alive, and ends with its lease. */
    private static final int HOLDER = 0;

    private final Scenario scenario;
    private final Observing observing;

    ClocksModel(Scenario scenario) {
        this.scenario = scenario;
        this.observing = new Observing(scenario);
    }

    @Override
    public State initial() {
        return State.initial(scenario);
    }

    @Override
    public State normalized(State state) {
        State normalized = state.normalized();
        // Where there are many clocks, the end of the lease in the row says nothing.
        return scenario.clocks() == Clocks.MANY ? normalized.changeAll(NodeRow::overdue) : normalized;
    }

    @Override
    public List<Step<State>> steps(State s) {
        Steps<State> out = new Steps<>();
        for (int i = 0; i < s.services().size(); i++) {
            if (!s.service(i).isGone()) {
                locks(s, i, out);
                if (i == HOLDER) {
                    beats(s, i, out);
                    faults(s, i, out);
                } else {
                    observing.steps(s, i, out);
                }
                rates(s, i, out);
            }
        }
        late(s, out);
        out.add("time passes", "", Cause.TIME, s.later(scenario.observation()));
        failover(s, out);
        return out.list();
    }

    private void locks(State s, int i, Steps<State> out) {
        Service me = s.service(i);
        LocalNode node = me.node();
        Budget left = s.budget();
        if (node == null) {
            if (left.has(Chance.ACQUISITION) && (i == HOLDER || s.isFree())) {
                int id = scenario.keeps(Rule.ANOTHER_NODE_FOR_EACH_LIFE) ? s.newNode() : i + 1;
                add(
                        out,
                        "registers node " + id,
                        i,
                        s.withNode(NodeRow.registered(id)).with(i, me.with(new LocalNode(id, Scenario.LEASE, 0, 0))));
            }
        } else if (node.left() == 0) {
            add(out, "ends its node, which is over", i, over(s, i, node));
        } else if (me.holds()) {
            State released = s.holder() == node.id() ? s.heldBy(State.FREE) : s;
            out.add("releases", name(i), Cause.USER, released.with(i, me.released()));
        } else if (left.has(Chance.ACQUISITION)
                && s.isFree()
                && s.living(node.id()).isPresent()) {
            add(
                    out,
                    "is granted the lock",
                    i,
                    s.heldBy(node.id()).with(i, me.holding()).with(left.less(Chance.ACQUISITION)));
        }
    }

    private static State over(State s, int i, LocalNode node) {
        Beat beat = s.service(i).beat();
        State ended =
                s.withoutNode(node.id()).with(i, s.service(i).with((Beat) null).with((LocalNode) null));
        return beat != null && beat.phase() == Phase.SENT ? ended.sending(beat) : ended;
    }

    private void beats(State s, int i, Steps<State> out) {
        Service me = s.service(i);
        LocalNode node = me.node();
        Beat beat = me.beat();
        if (node == null || node.left() == 0) {
            return;
        }
        if (beat == null) {
            // One that was sent in the same tick as the last one would change nothing else.
            if (node.left() < Scenario.LEASE || node.drawn() == 0) {
                int from = scenario.keeps(Rule.ANOTHER_COUNTER_FOR_EACH_BEAT) ? node.drawn() : node.counter();
                Beat sent = new Beat(Phase.SENT, node.id(), Scenario.LEASE, node.counter(), from + 1);
                LocalNode drawn = new LocalNode(node.id(), node.left(), node.counter(), from + 1);
                add(out, "sends a beat", i, s.with(i, me.with(drawn).with(sent)));
            }
            return;
        }
        switch (beat.phase()) {
            case SENT -> {
                boolean matches = s.living(node.id())
                        .filter(row -> row.counter() == beat.counter())
                        .isPresent();
                State done = matches ? s.change(node.id(), row -> row.beaten(beat.next())) : s;
                add(
                        out,
                        matches ? "has its beat done" : "has missed its beat",
                        i,
                        done.with(i, me.with(beat.in(matches ? Phase.DONE : Phase.MISSED))));
            }
            case DONE -> {
                int lasts = scenario.keeps(Rule.PROLONG_FROM_BEFORE_THE_BEAT) ? beat.left() : Scenario.LEASE;
                add(
                        out,
                        "is told of its beat",
                        i,
                        s.change(node.id(), NodeRow::answered)
                                .with(
                                        i,
                                        me.with((Beat) null)
                                                .with(new LocalNode(node.id(), lasts, beat.next(), beat.next()))));
            }
            case MISSED ->
                add(
                        out,
                        "reads its node",
                        i,
                        s.living(node.id())
                                .map(row -> s.with(
                                        i,
                                        me.with((Beat) null)
                                                .with(new LocalNode(
                                                        node.id(),
                                                        node.left(),
                                                        row.counter(),
                                                        Math.max(node.drawn(), row.counter())))))
                                .orElseGet(() -> s.with(i, me.with((Beat) null).with((LocalNode) null))));
        }
    }

    private void faults(State s, int i, Steps<State> out) {
        Service me = s.service(i);
        Budget left = s.budget();
        if (me.node() != null) {
            State crashed = me.beat() != null && me.beat().phase() == Phase.SENT ? s.sending(me.beat()) : s;
            if (left.has(Chance.CRASH)) {
                fault(out, "crashes", i, crashed.with(i, me.gone()).with(left.less(Chance.CRASH)));
            }
            if (left.has(Chance.RESTART)) {
                fault(
                        out,
                        "crashes and starts again",
                        i,
                        crashed.with(i, Service.STARTED).with(left.less(Chance.RESTART)));
            }
        }
        if (left.has(Chance.LOSS) && me.beat() != null && me.beat().phase() != Phase.MISSED) {
            State lost = s.with(i, me.with((Beat) null));
            State sent = me.beat().phase() == Phase.SENT ? lost.sending(me.beat()) : lost;
            fault(out, "has no answer to its beat", i, sent.with(left.less(Chance.LOSS)));
        }
    }

    private void rates(State s, int i, Steps<State> out) {
        Service me = s.service(i);
        Budget left = s.budget();
        if (left.has(Chance.RATE)) {
            fault(
                    out,
                    "has a clock that is a tick ahead",
                    i,
                    s.with(i, me.later(scenario.observation())).with(left.less(Chance.RATE)));
        }
    }

    private static void late(State s, Steps<State> out) {
        for (Beat beat : List.copyOf(s.late())) {
            boolean matches = s.living(beat.node())
                    .filter(row -> row.counter() == beat.counter())
                    .isPresent();
            State done = s.without(beat);
            out.add(
                    "a late beat is done",
                    "",
                    Cause.PROGRAM,
                    matches ? done.change(beat.node(), row -> row.beaten(beat.next())) : done);
            out.add("a late beat is lost", "", Cause.PROGRAM, done);
        }
    }

    /** What has no answer is undone, and its answer does not come any more. */
    private void failover(State s, Steps<State> out) {
        Budget left = s.budget();
        if (left.has(Chance.FAILOVER)) {
            State undone =
                    s.changeAll(row -> scenario.keeps(Rule.KEEP_WHAT_WAS_ANSWERED) ? row.undone() : row.lessBy(1));
            for (int i = 0; i < s.services().size(); i++) {
                Service me = undone.service(i);
                undone = me.beat() != null && me.beat().phase() == Phase.DONE
                        ? undone.with(i, me.with((Beat) null))
                        : undone;
            }
            fault(out, "another server takes over", -1, undone.with(left.less(Chance.FAILOVER)));
        }
        if (left.has(Chance.CLOCK_STEP)) {
            fault(out, "the clock is set forward", -1, s.withClockStep().with(left.less(Chance.CLOCK_STEP)));
        }
    }

    static void add(Steps<State> out, String what, int i, State to) {
        out.add(what, name(i), Cause.PROGRAM, to);
    }

    static void fault(Steps<State> out, String what, int i, State to) {
        out.add(what, i < 0 ? "" : name(i), Cause.FAULT, to);
    }

    private static String name(int i) {
        return "service " + i;
    }

    @Override
    public Optional<Promise> broken(State state, List<Step<State>> steps) {
        return state.services().stream().filter(Service::believes).count() > 1
                ? Optional.of(Promise.ONE_HOLDER)
                : Optional.empty();
    }

    @Override
    public List<Goal<State, Promise>> goals() {
        return List.of(new Goal<>(Promise.BECOMES_FREE, State::isFree, step -> !step.isFault()));
    }
}
