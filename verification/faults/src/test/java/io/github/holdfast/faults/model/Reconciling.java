package io.github.holdfast.faults.model;

import io.github.holdfast.faults.model.Hold.Stage;
import io.github.holdfast.faults.model.Service.LocalNode;
import org.jspecify.annotations.Nullable;

/** Rows of the node that nobody here knows of are freed, and holders whose row has moved on are told. */
record Reconciling(Scenario scenario) {

    void steps(State s, int i, Steps<State> out) {
        if (s.service(i).hasLivingNode() && scenario.keeps(Rule.RECONCILE)) {
            out.add("reconciles", i, reconciled(s, i));
        }
    }

    State reconciled(State s, int i) {
        Service me = s.service(i);
        LocalNode node = me.node();
        if (node == null) {
            return s;
        }
        boolean isElsewhere =
                s.db().node(node.id()).filter(NodeRow::isElsewhere).isPresent();
        LockRow row = isElsewhere ? null : s.db().row();
        boolean isUnknown = row != null && row.node() == node.id() && !isKnown(me, row);
        boolean isWritten = !s.isRowLocked() && !s.db().isStandbyAway() && scenario.keeps(Rule.RECONCILE);
        State freed = isUnknown && row != null && isWritten ? s.with(row.freed()) : s;
        return freed.with(i, told(me, node, row));
    }

    private static boolean isKnown(Service me, LockRow row) {
        boolean isPending = me.attempt() != null && me.attempt().owner() == row.owner();
        boolean isKept = me.hold() != null && me.hold().isKept() && row.shows(me.hold());
        return isPending || isKept || (me.hold() != null && me.believes() && row.shows(me.hold()));
    }

    private Service told(Service me, LocalNode node, @Nullable LockRow row) {
        Attempt attempt = me.attempt();
        Service noted = attempt == null ? me : me.with(attempt.missed());
        Hold hold = me.hold();
        if (hold != null && hold.isKept() && scenario.keeps(Rule.NONE_IS_REVIVED_AFTER_A_RECONCILIATION)) {
            return noted.with(hold.lost());
        }
        if (hold == null || hold.node() != node.id() || !me.believes()) {
            return noted;
        }
        if (row == null || !row.shows(hold)) {
            return noted.with(hold.lost());
        }
        return hold.stage() == Stage.UNCONFIRMED ? noted.with(hold.in(Stage.CONFIRMED)) : noted;
    }
}
