package io.github.holdfast.faults.model;

import io.github.holdfast.faults.model.Service.Settlement;
import org.jspecify.annotations.Nullable;

/**
 * Frees the row if it carries the owner that gave up, and otherwise makes the open write impossible. A row that is free may be so by
 * a release that only the primary has, unless a further write is answered. Read and write are one step here: between them the
 * compare-and-set finds out, and it is done again.
 */
record Settling(Scenario scenario) {

    void steps(State s, int i, Steps<State> out) {
        Settlement open = s.service(i).settlement();
        if (open == null) {
            return;
        }
        LockRow row = s.db().row();
        LockRow settled = row == null ? null : settled(row, open);
        State done = s.with(i, s.service(i).withoutSettlement());
        if (settled == null) {
            out.add("sees that what it gave up is settled", i, done);
        } else if (!s.isRowLocked()) {
            write(s, done, settled, i, out);
        }
    }

    private void write(State s, State done, LockRow settled, int i, Steps<State> out) {
        if (!s.db().isStandbyAway()) {
            out.add("settles what it gave up", i, done.with(settled));
        } else if (s.isCancellable()) {
            State told = scenario.keeps(Rule.BELIEVE_NO_CANCELLED_WRITE) ? s : done;
            out.addFault(
                    "settles what it gave up on the primary alone, its wait is cancelled",
                    i,
                    told.with(settled).cancelled());
        }
    }

    /** The row as it is to be written; null if it says that all is done. */
    private @Nullable LockRow settled(LockRow row, Settlement open) {
        if (row.owner() == open.owner()) {
            return row.freed();
        }
        boolean isInDoubt = row.owner() == LockRow.NOBODY && scenario.keeps(Rule.SETTLE_BY_A_WRITE);
        return row.version() == open.version() || isInDoubt ? row.superseded() : null;
    }
}
