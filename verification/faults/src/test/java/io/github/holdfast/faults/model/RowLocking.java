package io.github.holdfast.faults.model;

import io.github.holdfast.faults.model.Scenario.Kind;
import io.github.holdfast.faults.model.Seen.Standing;
import io.github.holdfast.faults.model.Service.RowLock;
import io.github.holdfast.faults.model.Service.RowPhase;
import java.util.Objects;

/** Looks without locking, then locks the row, then compares it with the one that was free. */
record RowLocking(Scenario scenario) {

    void steps(State s, int i, Steps<State> out) {
        if (scenario.kinds().get(i) != Kind.ROW_LOCK) {
            return;
        }
        Service me = s.service(i);
        RowLock lock = me.rowLock();
        if (lock == null) {
            if (me.isIdle() && s.budget().acquisitions() > 0) {
                out.add(
                        "begins to acquire a row lock",
                        i,
                        s.with(i, me.with(RowLock.LOOKING)).with(s.budget().lessAcquisition()));
            }
            return;
        }
        switch (lock.phase()) {
            case LOOKING -> {
                look(s, i, out);
                out.add("gives up", i, s.with(i, me.withoutRowLock()));
            }
            case FOUND_FREE -> lock(s, i, lock, out);
            case LOCKED -> {
                int token = Objects.requireNonNull(s.db().row()).token();
                out.add(
                        "commits under the row lock",
                        i,
                        s.committed(i, token, lock.isOvertaken()).with(i, me.withoutRowLock()));
                out.add("rolls back", i, s.with(i, me.withoutRowLock()));
            }
        }
    }

    private void look(State s, int i, Steps<State> out) {
        Standing standing = Seen.of(s.db()).standing(LockRow.NOBODY, scenario.tolerance());
        LockRow row = s.db().row();
        if (row == null) {
            out.add("creates the row", i, s.with(s.db().withCreated(scenario.rules())));
        } else if (standing == Standing.NODE_OVERDUE && !s.db().isPending(row.node())) {
            out.add("ends the node", i, s.with(s.db().withoutNode(row.node())));
        } else if (standing == Standing.FREE) {
            if (row.owner() == LockRow.NOBODY || !scenario.keeps(Rule.ROW_LOCK_WRITES_TAKEOVER)) {
                RowLock found = new RowLock(RowPhase.FOUND_FREE, row.version(), false);
                out.add("sees it free", i, s.with(i, s.service(i).with(found)));
            } else if (!s.isRowLocked()) {
                out.add("takes it from its dead owner", i, s.with(row.vacated(0)));
            }
        }
    }

    private static void lock(State s, int i, RowLock found, Steps<State> out) {
        if (s.isRowLocked()) {
            return;
        }
        LockRow row = s.db().row();
        boolean isSame = row != null && row.version() == found.version();
        RowLock next = isSame ? new RowLock(RowPhase.LOCKED, found.version(), false) : RowLock.LOOKING;
        out.add(
                isSame ? "locks the row and reads" : "finds the row changed",
                i,
                s.with(i, s.service(i).with(next)));
    }
}
