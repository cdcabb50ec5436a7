package io.github.holdfast.faults.model.shares;

import io.github.holdfast.faults.model.Steps;
import io.github.holdfast.faults.model.Steps.Cause;
import io.github.holdfast.faults.model.shares.Scenario.Mode;
import io.github.holdfast.faults.model.shares.Service.Settlement;

/** The change of an exclusive hold to a share: one compare-and-set, which also adds the holder's row. */
record Downgrading(Scenario scenario, Writes writes) {

    void steps(State s, int i, Hold hold, Steps<State> out) {
        Service me = s.service(i);
        if (hold.isShared()
                || !me.believes()
                || me.settlement() != null
                || s.budget().downgrades() == 0) {
            return;
        }
        State begun = s.with(s.budget().lessDowngrade());
        LockRow row = s.db().row();
        if (row.shows(hold) && s.budget().losses() > 0) {
            out.add(
                    "has no answer to its downgrade, which is on its way",
                    scenario.who(i),
                    Cause.FAULT,
                    withoutAnswer(begun, i, hold)
                            .sending(new Late.Downgrade(hold.owner(), row.seen()))
                            .with(begun.budget().losses(s.budget().losses() - 1)));
        }
        if (s.isRowLocked()) {
            return;
        }
        if (row.shows(hold)) {
            State done = downgraded(begun, hold.owner());
            int token = done.db().row().token();
            Hold share = Hold.begun(Mode.SHARED, hold.owner(), token, HolderRow.NO_NODE, 1, Scenario.LEASE);
            writes.add(
                    "downgrades, token " + token, i, done.with(i, me.with(share)), withoutAnswer(done, i, hold), out);
        } else {
            out.add("finds its hold lost", scenario.who(i), Cause.PROGRAM, begun.with(i, me.with(hold.lost())));
        }
    }

    /** The compare-and-set. */
    boolean matches(LockRow row, LockRow seen) {
        return row.isSameAs(seen)
                || (!scenario.keeps(Rule.DOWNGRADE_COMPARES_THE_GRANT) && row.is(LockRow.State.EXCLUSIVE));
    }

    /** It releases what it had, and settles the share in the background. */
    private static State withoutAnswer(State s, int i, Hold hold) {
        Settlement open = new Settlement(hold.owner(), s.db().row().version());
        return s.with(i, s.service(i).withoutHold().with(open));
    }

    /** After the write, whoever waits for its answer. */
    State downgraded(State s, int owner) {
        LockRow row = s.db().row().grantedShared(owner);
        Database db = s.db().with(row);
        State done = s.with(
                scenario.keeps(Rule.DOWNGRADE_ADDS_THE_HOLDER)
                        ? db.withHolder(HolderRow.added(row.token(), owner, HolderRow.NO_NODE, 1))
                        : db);
        return writes.isStandbyAway(s) ? done : done.with(s.ledger().shared(row.token()));
    }
}
