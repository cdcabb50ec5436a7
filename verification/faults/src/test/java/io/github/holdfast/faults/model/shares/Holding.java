package io.github.holdfast.faults.model.shares;

import io.github.holdfast.faults.model.Steps;
import io.github.holdfast.faults.model.Steps.Cause;
import io.github.holdfast.faults.model.shares.Service.Settlement;
import java.util.Optional;

/** What a holder does: it renews its lease, commits under the guard, and releases. */
record Holding(Scenario scenario, Writes writes, Settling settling, Downgrading downgrading) {

    void steps(State s, int i, Steps<State> out) {
        Hold hold = s.service(i).hold();
        if (hold == null) {
            return;
        }
        if (hold.isRenewing()) {
            endRenewal(s, i, hold, out);
        } else if (hold.isShared()
                && hold.node() == HolderRow.NO_NODE
                && hold.left() > 0
                && s.budget().renewals() > 0) {
            renew(s, i, hold, out);
        }
        if (scenario.hasTransactions()) {
            transaction(s, i, hold, out);
        }
        if (!hold.isGuarded() && !hold.isRenewing()) {
            release(s, i, hold, out);
            downgrading.steps(s, i, hold, out);
        }
    }

    private static Optional<HolderRow> row(State s, Hold hold) {
        return s.db().holder(hold.token()).filter(row -> row.isOf(hold));
    }

    private void renew(State s, int i, Hold hold, Steps<State> out) {
        State sending = s.with(s.budget().renewals(s.budget().renewals() - 1));
        Optional<HolderRow> row = row(s, hold);
        if (row.isEmpty() || row.get().left() == 0) {
            out.add(
                    "finds that its hold is over",
                    scenario.who(i),
                    Cause.PROGRAM,
                    sending.with(i, s.service(i).with(hold.lost())));
        } else if (!s.isLocked(row.get())) {
            out.add(
                    "executes a renewal",
                    scenario.who(i),
                    Cause.USER,
                    sending.with(s.db().withHolder(hold.token(), HolderRow::renewed))
                            .with(i, s.service(i).with(hold.renewing())));
        }
        if (s.budget().losses() > 0) {
            out.add(
                    "has no answer to a renewal, which is on its way",
                    scenario.who(i),
                    Cause.FAULT,
                    sending.sending(new Late.Renewal(hold.token(), hold.owner()))
                            .with(sending.budget().losses(s.budget().losses() - 1)));
        }
    }

    private void endRenewal(State s, int i, Hold hold, Steps<State> out) {
        if (row(s, hold).filter(HolderRow::isPending).isEmpty()) {
            out.add(
                    "has lost its connection",
                    scenario.who(i),
                    Cause.PROGRAM,
                    s.with(i, s.service(i).with(hold.notRenewed())));
            return;
        }
        State untold = s.with(i, s.service(i).with(hold.notRenewed()));
        State done = s.with(s.db().withHolder(hold.token(), HolderRow::committed));
        writes.add(
                "has its lease renewed",
                i,
                done.with(i, s.service(i).with(hold.renewed())),
                untold.with(done.db()),
                out);
        if (s.budget().losses() > 0) {
            out.add(
                    "has no answer to the commit of a renewal, which is on its way",
                    scenario.who(i),
                    Cause.FAULT,
                    untold.with(s.budget().losses(s.budget().losses() - 1)));
        }
    }

    /** What counts for the guard is the grant, not the lease: it is passed while the row is there. */
    private void transaction(State s, int i, Hold hold, Steps<State> out) {
        Service me = s.service(i);
        if (hold.isGuarded() || !scenario.keeps(Rule.GUARD)) {
            out.add(
                    "commits under token " + hold.token(),
                    scenario.who(i),
                    Cause.PROGRAM,
                    s.with(s.ledger().committed(hold)).with(i, me.with(hold.committed())));
        } else if (!s.isLockedFor(hold)
                && (s.db().row().shows(hold) || row(s, hold).isPresent())) {
            out.add("passes the guard", scenario.who(i), Cause.USER, s.with(i, me.with(hold.guarded())));
        }
    }

    private void release(State s, int i, Hold hold, Steps<State> out) {
        Service me = s.service(i);
        if (me.settlement() != null || s.isLockedFor(hold)) {
            return;
        }
        Settlement open = new Settlement(hold.owner(), Settlement.NONE);
        State done = s;
        if (hold.isShared() && row(s, hold).isPresent()) {
            done = s.with(settling.released(s.db(), hold.token()));
        } else if (s.db().row().shows(hold)) {
            done = s.with(s.db().row().freed());
        }
        writes.add(
                "releases",
                i,
                done.with(i, me.withoutHold()),
                done.with(i, me.withoutHold().with(open)),
                out);
    }
}
