package io.github.holdfast.faults.model;

import io.github.holdfast.faults.model.Message.GiveBack;
import io.github.holdfast.faults.model.Service.LocalNode;

/**
 * A service keeps the row of a lock that it has released, and its next acquisition revives the hold without a statement. Or it gives the
 * row back.
 */
record Keeping(Scenario scenario) {

    void steps(State s, int i, Steps<State> out) {
        Service me = s.service(i);
        Hold hold = me.hold();
        if (!scenario.keepsReleased() || hold == null) {
            return;
        }
        if (hold.isKept()) {
            revive(s, i, hold, out);
            giveBack(s, i, hold, out);
        } else if (mayKeep(s, me, hold)) {
            out.add("releases, and keeps the row", i, s.with(i, me.with(hold.kept())));
        }
        if (me.hasGuardPassed() && s.budget().losses() > 0) {
            State unanswered = s.with(i, me.withoutTransaction())
                    .with(s.budget().lessLoss())
                    .sending(new Message.Commit(hold.token(), hold.given(), me.isOvertaken()));
            out.addFault("has no answer to its commit", i, unanswered);
        }
    }

    private boolean mayKeep(State s, Service me, Hold hold) {
        return hold.node() != LockRow.NO_NODE
                && me.transaction() == null
                && me.believes()
                && hold.stage() != Hold.Stage.UNCONFIRMED
                && !(scenario.keeps(Rule.NONE_IS_KEPT_AFTER_AN_UNKNOWN_COMMIT) && s.mayCommit(hold));
    }

    private void revive(State s, int i, Hold hold, Steps<State> out) {
        Service me = s.service(i);
        LocalNode node = me.node();
        if (node == null || node.left() == 0 || hold.spare() == 0 || s.budget().acquisitions() == 0) {
            return;
        }
        int spare = scenario.keeps(Rule.A_REVIVED_HOLD_HAS_A_NEW_TOKEN) ? hold.spare() - 1 : hold.spare();
        int left = scenario.keeps(Rule.A_REVIVAL_PROLONGS_NOTHING) ? hold.left() : Scenario.LEASE;
        Hold revived = new Hold(hold.owner(), hold.token(), hold.node(), left, Hold.Stage.CONFIRMED, spare, false);
        if (hold.node() == node.id() && left > 0) {
            out.add(
                    "revives its hold with token " + revived.given(),
                    i,
                    s.with(i, me.with(revived))
                            .with(s.ledger().given(revived.given()))
                            .with(s.budget().lessAcquisition()));
        }
    }

    private void giveBack(State s, int i, Hold hold, Steps<State> out) {
        if (!scenario.keeps(Rule.A_ROW_IS_CLAIMED_BEFORE_IT_IS_GIVEN_BACK)) {
            GiveBack sent = new GiveBack(hold.owner(), hold.token());
            if (!s.network().contains(sent)) {
                out.add("gives the row back", i, s.sending(sent));
            }
            return;
        }
        if (!s.isRowLocked()) {
            out.add(
                    "gives the row back",
                    i,
                    Holding.released(s, hold).with(i, s.service(i).withoutHold()));
        }
    }
}
