package io.github.holdfast.faults.model;

import io.github.holdfast.faults.model.NodeRow.Whereabouts;
import io.github.holdfast.faults.model.Seen.Standing;

/** Forced release, housekeeping, and changes of rows by hand. */
record Operators(Scenario scenario) {

    void steps(State s, Steps<State> out) {
        if (s.db().isStandbyAway()) {
            return;
        }
        for (NodeRow node : s.db().nodes()) {
            if (node.left() == 0 && !node.isPending() && !node.isDeleted()) {
                out.add("housekeeping ends node " + node.id(), Steps.NOBODY, s.with(s.db().withoutNode(node.id())));
            }
        }
        if (s.budget().nodeChanges() > 0) {
            s.db().nodes().stream()
                    .filter(node -> !node.isPending() && !node.isEnded() && !node.isDeleted())
                    .forEach(node -> changeByHand(s, node, out));
        }
        LockRow row = s.db().row();
        if (row == null || s.isRowLocked()) {
            return;
        }
        if (s.budget().purges() > 0 && row.isIdle()) {
            out.addFault(
                    "the row is purged",
                    Steps.NOBODY,
                    s.with(s.db().withoutRow(row)).with(s.budget().lessPurge()));
        }
        Standing standing = Seen.of(s.db()).standing(LockRow.NOBODY, scenario.tolerance());
        boolean isHeld = standing == Standing.HELD || standing == Standing.NODE_OVERDUE;
        if (s.budget().forcedReleases() > 0 && isHeld && !s.db().isPending(row.node())) {
            out.addFault("the lock is released by force", Steps.NOBODY, forced(s, row));
        }
    }

    /** A lock that is held through a node while its row is deleted is not in the model: nothing tells others how long that lasts. */
    private void changeByHand(State s, NodeRow node, Steps<State> out) {
        State ended = changedByHand(s, node, Whereabouts.ENDED_BY_HAND, Rule.ENDED_BY_HAND_LASTS_TO_ITS_END);
        out.addFault("node " + node.id() + " is ended by hand", Steps.NOBODY, ended);
        LockRow lock = s.db().row();
        if (lock == null || lock.node() != node.id()) {
            State deleted = changedByHand(s, node, Whereabouts.DELETED, Rule.WITHOUT_NODE_LASTS_A_LEASE);
            out.addFault("the row of node " + node.id() + " is deleted", Steps.NOBODY, deleted);
        }
    }

    /** Without the rule, the node has left its locks at once. */
    private State changedByHand(State s, NodeRow node, Whereabouts whereabouts, Rule rule) {
        Database db = scenario.keeps(rule)
                ? s.db().withNode(node.id(), row -> row.changedByHand(whereabouts))
                : s.db().withoutNode(node.id());
        return s.with(s.budget().lessNodeChange()).with(db);
    }

    private State forced(State s, LockRow row) {
        Database vacated = s.db().with(row.vacated(delay(s, row)));
        return s.with(scenario.keeps(Rule.ALERT_THE_NODE) ? vacated.withNode(row.node(), NodeRow::alerted) : vacated)
                .with(s.budget().lessForcedRelease());
    }

    private int delay(State s, LockRow row) {
        if (!scenario.keeps(Rule.DELAY_AFTER_FORCED_RELEASE)) {
            return 0;
        }
        boolean isThroughNode = row.node() != LockRow.NO_NODE;
        return isThroughNode && scenario.keeps(Rule.DELAY_BY_A_WHOLE_LEASE)
                ? scenario.leaseForOthers()
                : Seen.of(s.db()).timeUntilFree();
    }
}
