package io.github.holdfast.faults.model.shares;

import io.github.holdfast.faults.model.Steps;
import io.github.holdfast.faults.model.shares.Service.Settlement;
import java.util.Optional;

/** What a service ends in the background, again and again until it is answered. */
record Settling(Scenario scenario, Writes writes, Sharing sharing) {

    void steps(State s, int i, Steps<State> out) {
        Settlement open = s.service(i).settlement();
        if (open == null) {
            return;
        }
        if (scenario.isShared(i)) {
            settleShare(s, i, open, out);
        } else {
            settleExclusive(s, i, open, out);
        }
    }

    private void settleShare(State s, int i, Settlement open, Steps<State> out) {
        boolean isToSupersede = open.version() != Settlement.NONE;
        Optional<HolderRow> row = s.db().holderOf(open.owner());
        if ((isToSupersede && s.isRowLocked()) || row.filter(s::isLocked).isPresent()) {
            return;
        }
        State settled = isToSupersede ? s.with(sharing.superseded(s.db().row(), open.version())) : s;
        State done =
                row.isPresent() ? settled.with(released(settled.db(), row.get().token())) : settled;
        writes.add("settles what it gave up", i, done.with(i, s.service(i).withoutSettlement()), done, out);
    }

    /** After the release of a share. */
    Database released(Database db, int token) {
        return scenario.keeps(Rule.RELEASE_NAMES_THE_GRANT) ? db.withoutHolder(token) : db.withoutHolders();
    }

    /** A row that is free may be so by a release that only one server has, unless a further write is answered. */
    private void settleExclusive(State s, int i, Settlement open, Steps<State> out) {
        if (s.isRowLocked()) {
            return;
        }
        LockRow row = s.db().row();
        boolean isPossible = row.version() == open.version();
        State done = s;
        if (row.isOf(open.owner())) {
            done = s.with(row.freed());
        } else if (isPossible || row.is(LockRow.State.FREE)) {
            done = s.with(row.withVersion(row.version() + 1));
        }
        // A downgrade without an answer may have left a share.
        Optional<HolderRow> share = s.db().holderOf(open.owner());
        if (share.filter(s::isLocked).isEmpty()) {
            State settled = share.isPresent()
                    ? done.with(released(done.db(), share.get().token()))
                    : done;
            writes.add(
                    "settles what it gave up", i, settled.with(i, s.service(i).withoutSettlement()), settled, out);
        }
    }
}
