package io.github.holdfast.faults.model;

import io.github.holdfast.faults.model.Service.Settlement;

/**
 * Frees the row if it carries the owner that gave up, and otherwise makes the open write impossible. Read and
 * write are one step here: between them the compare-and-set finds out, and it is done again.
 */
record Settling() {

    void steps(State s, int i, Steps out) {
        Settlement open = s.service(i).settlement();
        if (open == null || s.isRowLocked()) {
            return;
        }
        State done = s.with(i, s.service(i).withoutSettlement());
        LockRow row = s.db().row();
        if (row == null) {
            out.add("has nothing to settle", i, done);
        } else if (row.owner() == open.owner()) {
            out.add("frees what it gave up", i, done.with(row.freed()));
        } else if (row.version() == open.version()) {
            out.add("makes the open grant impossible", i, done.with(row.superseded()));
        } else {
            out.add("sees that the row has moved on", i, done);
        }
    }
}
