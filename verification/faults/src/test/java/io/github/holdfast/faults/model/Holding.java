package io.github.holdfast.faults.model;

import io.github.holdfast.faults.model.Hold.Stage;
import io.github.holdfast.faults.model.Service.Settlement;
import io.github.holdfast.faults.model.Service.Transaction;

/** What a holder does: it releases, commits under the guard (ADR 0008), and asks whether its grant stands. */
record Holding(Scenario scenario) {

    void steps(State s, int i, Steps<State> out) {
        Service me = s.service(i);
        Hold hold = me.hold();
        if (hold == null || hold.isKept()) {
            return;
        }
        if (hold.stage() == Stage.UNCONFIRMED) {
            boolean stands = shows(s, hold);
            out.add(
                    "looks whether its grant stands",
                    i,
                    s.with(i, me.with(stands ? hold.in(Stage.CONFIRMED) : hold.lost())));
        }
        Transaction transaction = me.transaction();
        if (transaction != null) {
            transaction(s, i, hold, transaction, out);
            return;
        }
        if (scenario.hasTransactions() && !s.mayCommit(hold)) {
            out.add("begins a transaction and reads", i, s.with(i, me.with(new Transaction(false, false))));
        }
        if (!s.isRowLocked()) {
            release(s, i, hold, out);
        }
    }

    private void release(State s, int i, Hold hold, Steps<State> out) {
        State released = released(s, hold);
        if (!s.db().isStandbyAway()) {
            out.add("releases", i, released.with(i, s.service(i).withoutHold()));
        } else if (s.isCancellable() && s.service(i).settlement() == null) {
            State told = scenario.keeps(Rule.BELIEVE_NO_CANCELLED_WRITE)
                    ? releasedWithoutAnswer(released, i, hold)
                    : released.with(i, s.service(i).withoutHold());
            out.addFault("releases on the primary alone, its wait is cancelled", i, told.cancelled());
        }
    }

    private static boolean shows(State s, Hold hold) {
        LockRow row = s.db().row();
        return row != null && row.shows(hold);
    }

    static State released(State s, Hold hold) {
        LockRow row = s.db().row();
        return row != null && row.shows(hold) ? s.with(row.freed()) : s;
    }

    /** The release did not get through, or was not answered: it is repeated until the row says that it is done. */
    static State releasedWithoutAnswer(State s, int i, Hold hold) {
        return s.with(i, s.service(i).withoutHold().with(new Settlement(hold.owner(), Attempt.NONE)));
    }

    /** What counts for the guard is the grant, not the lease: it is passed while nobody else was granted the lock. */
    private void transaction(State s, int i, Hold hold, Transaction transaction, Steps<State> out) {
        Service me = s.service(i);
        if (transaction.isGuarded() || !scenario.keeps(Rule.GUARD)) {
            out.add(
                    "commits under token " + hold.given(),
                    i,
                    s.committed(i, hold.given(), transaction.isOvertaken()).with(i, me.withoutTransaction()));
        } else if (!shows(s, hold)) {
            out.add("fails at the guard", i, s.with(i, me.withoutTransaction()));
        } else if (!s.isRowLockedExclusively()) {
            out.add("passes the guard", i, s.with(i, me.with(new Transaction(true, transaction.isOvertaken()))));
        }
    }
}
