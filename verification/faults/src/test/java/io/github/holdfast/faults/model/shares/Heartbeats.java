package io.github.holdfast.faults.model.shares;

import io.github.holdfast.faults.model.Steps;
import io.github.holdfast.faults.model.Steps.Cause;
import io.github.holdfast.faults.model.shares.Service.LocalNode;

/** A service keeps its node alive. A beat is executed in one step, and committed and answered in another. */
record Heartbeats(Scenario scenario, Writes writes) {

    void steps(State s, int i, Steps<State> out) {
        LocalNode node = s.service(i).node();
        if (node == null) {
            return;
        }
        if (node.isBeating()) {
            end(s, i, node, out);
        } else if (node.left() > 0 && node.left() < Scenario.LEASE) {
            beat(s, i, node, out);
        }
    }

    private void beat(State s, int i, LocalNode node, Steps<State> out) {
        boolean isBeatable = s.db().node(node.id())
                .filter(row -> !row.isPending() && row.left() > 0)
                .isPresent();
        if (isBeatable) {
            out.add(
                    "executes a beat",
                    scenario.who(i),
                    Cause.PROGRAM,
                    s.with(s.db().withNode(node.id(), NodeRow::beaten))
                            .with(i, s.service(i).with(new LocalNode(node.id(), node.left(), Scenario.LEASE))));
        }
    }

    private void end(State s, int i, LocalNode node, Steps<State> out) {
        LocalNode same = new LocalNode(node.id(), node.left(), LocalNode.NONE);
        if (s.db().node(node.id()).filter(NodeRow::isPending).isEmpty()) {
            out.add(
                    "has lost its connection",
                    scenario.who(i),
                    Cause.PROGRAM,
                    s.with(i, s.service(i).with(same)));
            return;
        }
        LocalNode beaten = new LocalNode(node.id(), Math.max(node.left(), node.beatenLeft()), LocalNode.NONE);
        State done = s.with(s.db().withNode(node.id(), NodeRow::committed));
        writes.add(
                "has its beat committed",
                i,
                done.with(i, s.service(i).with(beaten)),
                done.with(i, s.service(i).with(same)),
                out);
    }
}
