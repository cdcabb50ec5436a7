package io.github.holdfast.faults.model.clocks;

import io.github.holdfast.faults.model.Steps;
import io.github.holdfast.faults.model.clocks.Scenario.Budget;
import io.github.holdfast.faults.model.clocks.Scenario.Chance;
import io.github.holdfast.faults.model.clocks.Scenario.Clocks;
import io.github.holdfast.faults.model.clocks.Service.Sight;
import org.jspecify.annotations.Nullable;

/** Reads the counter of the other node, notes since when it has stood still, and ends that node. */
record Observing(Scenario scenario) {

    void steps(State s, int i, Steps<State> out) {
        read(s, i, out);
        decide(s, i, out);
        end(s, i, out);
    }

    private void read(State s, int i, Steps<State> out) {
        Service me = s.service(i);
        Sight reading = me.reading();
        if (reading == null && me.ending() == null) {
            s.nodes().stream()
                    .filter(row -> !isOwn(me, row))
                    .forEach(row -> ClocksModel.add(
                            out,
                            "sends a read of node " + row.id(),
                            i,
                            s.with(i, me.reading(new Sight(row.id(), 0, 0)))));
        }
        if (reading == null) {
            return;
        }
        Sight sent = reading;
        s.living(sent.node())
                .ifPresentOrElse(
                        row -> {
                            ClocksModel.add(out, "reads", i, s.with(i, read(s, me, row.counter(), sent)));
                            Budget left = s.budget();
                            if (left.has(Chance.LAG)) {
                                ClocksModel.fault(
                                        out,
                                        "reads a server that is behind",
                                        i,
                                        s.with(i, read(s, me, row.counter() - 1, sent))
                                                .with(left.less(Chance.LAG)));
                            }
                        },
                        () -> ClocksModel.add(out, "does not find the node", i, s.with(i, me.reading(null))));
    }

    private Service read(State s, Service me, int counter, Sight sent) {
        Sight shown = new Sight(sent.node(), counter, sent.age());
        return me.having(noted(me.sight(), shown)).noticing(s.clockSteps(), scenario.distrust());
    }

    private static boolean isOwn(Service me, NodeRow row) {
        return me.node() != null && me.node().id() == row.id();
    }

    private Sight noted(@Nullable Sight before, Sight shown) {
        boolean isSameNode = before != null && before.node() == shown.node();
        if (before != null && isSameNode && before.counter() == shown.counter()) {
            return before;
        }
        int age = scenario.keeps(Rule.BEGIN_WITH_THE_ANSWER) ? 0 : shown.age();
        if (before != null && isSameNode && !scenario.keeps(Rule.BEGIN_AGAIN_WHEN_IT_MOVES)) {
            age = before.age();
        }
        if (!isSameNode && !scenario.keeps(Rule.ONLY_OWN_OBSERVATIONS)) {
            age = scenario.observation();
        }
        return new Sight(shown.node(), shown.counter(), age);
    }

    private void decide(State s, int i, Steps<State> out) {
        Service me = s.service(i);
        if (me.ending() != null || me.reading() != null) {
            return;
        }
        Sight sight = me.sight();
        if (sight != null
                && sight.age() >= scenario.observation()
                && s.living(sight.node()).isPresent()) {
            ClocksModel.add(out, "decides to end node " + sight.node(), i, s.with(i, me.ending(sight)));
        }
        s.nodes().stream().filter(row -> !isOwn(me, row)).forEach(row -> judge(s, i, row, out));
    }

    /** By the clock of the server that the service reads, which may say anything where there are many. */
    private void judge(State s, int i, NodeRow row, Steps<State> out) {
        Service me = s.service(i);
        Sight seen = new Sight(row.id(), row.counter(), 0);
        if (scenario.clocks() == Clocks.MANY) {
            if (!scenario.keeps(Rule.OBSERVE)) {
                ClocksModel.add(out, "sees node " + row.id() + " overdue", i, s.with(i, me.ending(seen)));
            }
            return;
        }
        if (row.left() == 0) {
            Service read = me.noticing(s.clockSteps(), scenario.distrust());
            ClocksModel.add(
                    out,
                    "sees node " + row.id() + " overdue",
                    i,
                    s.with(i, read.distrust() > 0 ? read : read.ending(seen)));
        }
    }

    private void end(State s, int i, Steps<State> out) {
        Service me = s.service(i);
        Sight ending = me.ending();
        if (ending == null) {
            return;
        }
        boolean matches = s.living(ending.node())
                .filter(row -> row.counter() == ending.counter() || !scenario.keeps(Rule.COMPARE_THE_COUNTER))
                .isPresent();
        State ended = matches ? s.withoutNode(ending.node()) : s;
        ClocksModel.add(
                out, matches ? "ends node " + ending.node() : "ends no node", i, ended.with(i, me.ending(null)));
    }
}
