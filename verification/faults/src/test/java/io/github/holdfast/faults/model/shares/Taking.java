package io.github.holdfast.faults.model.shares;

import io.github.holdfast.faults.model.Steps;
import io.github.holdfast.faults.model.Steps.Cause;
import io.github.holdfast.faults.model.shares.Attempt.Phase;
import io.github.holdfast.faults.model.shares.Scenario.Mode;
import io.github.holdfast.faults.model.shares.Service.Settlement;
import java.util.Optional;

/** The acquisition of the lock for its holder alone: it reads the row, then the holders, and grants on that row. */
record Taking(Scenario scenario, Writes writes, Clearing clearing) {

    void steps(State s, int i, Attempt attempt, Steps<State> out) {
        switch (attempt.phase()) {
            case LOOKING -> look(s, i, attempt, out);
            case SHARED_SEEN -> readHolders(s, i, attempt, out);
            case REMOVING -> clearing.remove(s, i, attempt, out);
            case ENDING -> clearing.end(s, i, attempt, out);
            case DECIDED -> grant(s, i, attempt, out);
            default -> throw new IllegalStateException("Not for an exclusive acquisition: " + attempt);
        }
    }

    private void look(State s, int i, Attempt attempt, Steps<State> out) {
        LockRow row = s.db().row();
        boolean isShared = row.is(LockRow.State.SHARED);
        if (isShared && scenario.keeps(Rule.READ_THE_HOLDERS)) {
            out.add("sees it shared", scenario.who(i), Cause.PROGRAM, s.with(i, attempt.in(Phase.SHARED_SEEN, row)));
        } else if (isShared || row.is(LockRow.State.FREE) || row.isLeft()) {
            out.add("sees it free", scenario.who(i), Cause.PROGRAM, s.with(i, attempt.decided(row, 0)));
        }
    }

    /** Another server may answer, which is behind, if there is one. */
    private void readHolders(State s, int i, Attempt attempt, Steps<State> out) {
        out.add("reads the holders", scenario.who(i), Cause.PROGRAM, s.with(i, judged(s.db(), attempt)));
        Database behind = s.db().copy();
        if (behind != null && !writes.isStandbyAway(s)) {
            out.add(
                    "reads the holders on the server that is behind",
                    scenario.who(i),
                    Cause.PROGRAM,
                    s.with(i, judged(behind, attempt)));
        }
    }

    private Attempt judged(Database seen, Attempt attempt) {
        boolean isOvertaken = seen.row().version() != attempt.basis().version();
        if (isOvertaken && scenario.keeps(Rule.HOLDERS_OF_THE_VERSION)) {
            return attempt.looking();
        }
        Optional<Attempt> dead = clearing.next(seen, attempt);
        if (dead.isPresent() && scenario.keeps(Rule.REMOVE_THE_DEAD)) {
            return dead.get();
        }
        boolean isAlone = seen.holders().stream().allMatch(holder -> seen.standing(holder) != Database.Standing.ALIVE);
        return isAlone ? attempt.decided(attempt.basis(), 0) : attempt.looking();
    }

    private void grant(State s, int i, Attempt attempt, Steps<State> out) {
        if (s.budget().losses() > 0 && s.service(i).settlement() == null) {
            State waiting = withoutAnswer(s, i, attempt);
            out.add(
                    "has no answer to its grant, which is on its way",
                    scenario.who(i),
                    Cause.FAULT,
                    waiting.sending(new Late.ExclusiveGrant(attempt.owner(), attempt.basis()))
                            .with(s.budget().losses(s.budget().losses() - 1)));
        }
        if (s.isRowLocked()) {
            return;
        }
        if (!matches(s.db().row(), attempt.basis())) {
            out.add("finds the row changed", scenario.who(i), Cause.PROGRAM, s.with(i, attempt.looking()));
            return;
        }
        State done = granted(s, attempt.owner());
        int token = done.db().row().token();
        Hold hold = Hold.begun(Mode.EXCLUSIVE, attempt.owner(), token, HolderRow.NO_NODE, 0, Scenario.LEASE);
        if (s.service(i).settlement() == null) {
            writes.add(
                    "is granted the lock alone, token " + token,
                    i,
                    done.with(i, s.service(i).holding(hold)),
                    withoutAnswer(done, i, attempt),
                    out);
        }
    }

    /** It gives up, and settles the grant in the background. */
    private static State withoutAnswer(State s, int i, Attempt attempt) {
        Settlement open = new Settlement(attempt.owner(), attempt.basis().version());
        return s.with(i, s.service(i).withoutAttempt().with(open));
    }

    /** The compare-and-set. */
    boolean matches(LockRow row, LockRow seen) {
        return row.isSameAs(seen)
                || (!scenario.keeps(Rule.COMPARE_THE_ROW) && row.is(LockRow.State.SHARED) && row.is(seen.state()));
    }

    /** After a grant, whoever waits for its answer. */
    State granted(State s, int owner) {
        State done = s.with(s.db().row().grantedAlone(owner));
        return writes.isStandbyAway(s)
                ? done
                : done.with(s.ledger().alone(done.db().row().token()));
    }
}
