package io.github.holdfast.faults.model.shares;

import io.github.holdfast.faults.model.Steps;
import io.github.holdfast.faults.model.shares.Database.Standing;
import java.util.Optional;

/** The removal of dead holders that are in the way. After it the acquisition looks again. */
record Clearing(Scenario scenario, Writes writes) {

    /** What is to be done about the dead holders that were seen; empty if there are none. */
    Optional<Attempt> next(Database seen, Attempt attempt) {
        for (HolderRow holder : seen.holders()) {
            if (seen.standing(holder) == Standing.NODE_OVERDUE && scenario.keeps(Rule.END_THE_NODE_FIRST)) {
                return Optional.of(attempt.ending(holder.node()));
            }
        }
        return seen.holders().stream()
                .filter(holder -> seen.standing(holder) != Standing.ALIVE)
                .findFirst()
                .map(attempt::removing);
    }

    /** The statement waits for transactions that protect the row. */
    void remove(State s, int i, Attempt attempt, Steps<State> out) {
        Optional<HolderRow> row = s.db().holder(attempt.target());
        State again = s.with(i, attempt.looking());
        if (row.isEmpty()) {
            writes.add("finds the dead holder removed", i, again, out);
        } else if (!s.isLocked(row.get())) {
            boolean isDead =
                    row.get().isThroughNode() || row.get().left() == 0 || !scenario.keeps(Rule.COMPARE_THE_LEASE_AGAIN);
            writes.add(
                    isDead ? "removes the dead holder" : "finds the holder renewed",
                    i,
                    isDead ? again.with(s.db().withoutHolder(attempt.target())) : again,
                    out);
        }
    }

    /** A beat that has the node's row locked is waited for. */
    void end(State s, int i, Attempt attempt, Steps<State> out) {
        Optional<NodeRow> node = s.db().node(attempt.target());
        if (node.filter(NodeRow::isPending).isEmpty()) {
            boolean isOverdue = node.filter(NodeRow::isOverdue).isPresent();
            State again = s.with(i, attempt.looking());
            writes.add(
                    "ends the node if it is overdue",
                    i,
                    isOverdue ? again.with(s.db().withoutNode(attempt.target())) : again,
                    out);
        }
    }
}
