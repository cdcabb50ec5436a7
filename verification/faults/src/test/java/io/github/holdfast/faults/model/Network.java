package io.github.holdfast.faults.model;

import io.github.holdfast.faults.model.Message.BeatStatement;
import io.github.holdfast.faults.model.Message.Commit;
import io.github.holdfast.faults.model.Message.GiveBack;
import io.github.holdfast.faults.model.Service.BeatPhase;
import java.util.HashSet;
import java.util.Optional;

/** Statements that nobody waits for are executed late; transactions that nobody waits for commit, or are rolled back. */
record Network(Scenario scenario, Acquiring acquiring) {

    void steps(State s, Steps<State> out) {
        for (Message message : new HashSet<>(s.network())) {
            if (message instanceof Grant grant) {
                execute(s, grant, out);
            } else if (message instanceof BeatStatement beat) {
                execute(s, beat, out);
            } else if (message instanceof Commit commit) {
                State done = s.without(commit);
                out.add("a late commit is rolled back", Steps.NOBODY, done);
                out.add(
                        "a late commit is done",
                        Steps.NOBODY,
                        done.committed(Steps.NOBODY, commit.given(), commit.isOvertaken()));
            } else if (message instanceof GiveBack giveBack && !s.isRowLocked()) {
                LockRow row = s.db().row();
                boolean isThere = row != null && row.owner() == giveBack.owner() && row.token() == giveBack.token();
                State done = s.without(giveBack);
                out.add(
                        "a late give-back is done",
                        Steps.NOBODY,
                        isThere && row != null ? done.with(row.freed()) : done);
            }
        }
        for (NodeRow node : s.db().nodes()) {
            if (node.isPending() && !isAwaited(s, node)) {
                if (!s.db().isStandbyAway()) {
                    out.add(
                            "a late beat is committed",
                            Steps.NOBODY,
                            s.with(s.db().withNode(node.id(), NodeRow::committed)));
                }
                out.add(
                        "a late beat is rolled back",
                        Steps.NOBODY,
                        s.with(s.db().withNode(node.id(), NodeRow::rolledBack)));
            }
        }
    }

    private void execute(State s, Grant grant, Steps<State> out) {
        if (s.isRowLocked() || s.db().isStandbyAway()) {
            return;
        }
        State arrived = s.without(grant);
        LockRow row = s.db().row();
        boolean isGranted = row != null && grant.matches(row, scenario.rules()) && !acquiring.missesItsNode(s, grant);
        out.add(
                isGranted ? "a late grant is done" : "a late grant finds the row changed",
                Steps.NOBODY,
                isGranted && row != null ? acquiring.granted(arrived, row, grant) : arrived);
    }

    private void execute(State s, BeatStatement beat, Steps<State> out) {
        Optional<NodeRow> row = s.db().node(beat.node());
        if (row.isPresent() && row.get().isPending()) {
            return;
        }
        State arrived = s.without(beat);
        boolean isBeaten = row.isPresent() && row.get().isBeatable(beat.version(), scenario.tolerance());
        out.add(
                "a late beat is executed",
                Steps.NOBODY,
                isBeaten
                        ? arrived.with(s.db().withNode(beat.node(), node -> node.beaten(scenario.leaseForOthers())))
                        : arrived);
    }

    private static boolean isAwaited(State s, NodeRow node) {
        return s.services().stream()
                .anyMatch(service -> service.node() != null
                        && service.node().id() == node.id()
                        && service.beat() != null
                        && service.beat().phase() == BeatPhase.EXECUTED);
    }
}
