package io.github.holdfast.faults.model.shares;

import io.github.holdfast.faults.model.Steps;
import io.github.holdfast.faults.model.Steps.Cause;
import io.github.holdfast.faults.model.shares.Attempt.Phase;
import io.github.holdfast.faults.model.shares.Database.Pending;
import io.github.holdfast.faults.model.shares.Database.Standing;
import io.github.holdfast.faults.model.shares.Scenario.Seat;
import io.github.holdfast.faults.model.shares.Service.LocalNode;
import io.github.holdfast.faults.model.shares.Service.Settlement;
import java.util.Optional;

/** The acquisition of a share, or of permits: a look, a grant in a transaction, and what to do when there was no answer. */
record Sharing(Scenario scenario, Writes writes, Clearing clearing) {

    void steps(State s, int i, Attempt attempt, Steps<State> out) {
        switch (attempt.phase()) {
            case LOOKING -> look(s, i, attempt, out);
            case REMOVING -> clearing.remove(s, i, attempt, out);
            case ENDING -> clearing.end(s, i, attempt, out);
            case FREEING -> free(s, i, attempt, out);
            case DECIDED -> execute(s, i, attempt, out);
            case PENDING -> commit(s, i, attempt, out);
            case UNANSWERED -> {
                settle(s, i, attempt, out);
                giveUp(s, i, attempt, out);
            }
            case SHARED_SEEN -> throw new IllegalStateException("Not for a share: " + attempt);
        }
    }

    /** A hold without a lease needs a node first. A service whose node is over does not get another one here. */
    private void look(State s, int i, Attempt attempt, Steps<State> out) {
        Service me = s.service(i);
        if (scenario.seat(i).isThroughNode() && me.node() == null) {
            int id = s.newNode();
            if (!writes.isStandbyAway(s)) {
                out.add(
                        "registers node " + id,
                        scenario.who(i),
                        Cause.PROGRAM,
                        s.with(s.db().withNode(NodeRow.registered(id)))
                                .with(i, me.with(new LocalNode(id, Scenario.LEASE, LocalNode.NONE))));
            }
        } else if (!scenario.seat(i).isThroughNode() || me.hasLivingNode()) {
            Attempt next = scenario.isOfSemaphore() ? judgedPermits(s, i, attempt) : judged(s.db().row(), attempt);
            if (!next.equals(attempt)) {
                out.add("looks, and is " + next.phase(), scenario.who(i), Cause.PROGRAM, s.with(i, next));
            }
        }
    }

    private static Attempt judged(LockRow row, Attempt attempt) {
        if (row.isLeft()) {
            return attempt.in(Phase.FREEING, row);
        }
        return row.is(LockRow.State.EXCLUSIVE) ? attempt : attempt.decided(row, 0);
    }

    private Attempt judgedPermits(State s, int i, Attempt attempt) {
        int used = s.db().used(scenario);
        return used + scenario.seat(i).permits() <= scenario.limit()
                ? attempt.decided(s.db().row(), used)
                : clearing.next(s.db(), attempt).orElse(attempt);
    }

    /** The write that frees it waits for the transaction of the dead holder. */
    private void free(State s, int i, Attempt attempt, Steps<State> out) {
        if (!s.isRowLocked()) {
            State again = s.with(i, attempt.looking());
            boolean isSame = s.db().row().isSameAs(attempt.basis());
            writes.add(
                    "frees what a dead holder has left",
                    i,
                    isSame ? again.with(s.db().row().vacated()) : again,
                    out);
        }
    }

    private void execute(State s, int i, Attempt attempt, Steps<State> out) {
        Late.SharedGrant grant = sent(s.service(i), i, attempt);
        if (s.budget().losses() > 0) {
            out.add(
                    "has no answer to its grant, which is on its way",
                    scenario.who(i),
                    Cause.FAULT,
                    s.with(i, withoutAnswer(attempt))
                            .sending(grant)
                            .with(s.budget().losses(s.budget().losses() - 1)));
        }
        if (s.isRowLocked()) {
            return;
        }
        if (!matches(s.db().row(), attempt.basis())) {
            out.add("finds the row changed", scenario.who(i), Cause.PROGRAM, s.with(i, attempt.looking()));
            return;
        }
        Pending pending = pending(s, i, grant);
        if (isGrantable(s, grant)) {
            out.add(
                    "executes its grant, token " + pending.holder().token(),
                    scenario.who(i),
                    Cause.PROGRAM,
                    s.with(s.db().with(pending)).with(i, attempt.pending()));
        } else {
            writes.add("takes a token for nothing", i, s.with(pending.row()).with(i, attempt.looking()), out);
        }
    }

    /** The grant as it is sent. */
    Late.SharedGrant sent(Service sender, int i, Attempt attempt) {
        Seat seat = scenario.seat(i);
        int node = seat.isThroughNode() ? sender.nodeId() : HolderRow.NO_NODE;
        return new Late.SharedGrant(attempt.owner(), node, seat.permits(), attempt.basis(), attempt.used());
    }

    /** The condition of the write that locks the row. */
    boolean matches(LockRow row, LockRow seen) {
        boolean isInTime = row.version() >= seen.version()
                && (row.version() < seen.version() + Scenario.WINDOW || !scenario.keeps(Rule.THE_WINDOW_ENDS));
        return isInTime && (!row.is(LockRow.State.EXCLUSIVE) || !scenario.keeps(Rule.NOT_BESIDE_AN_EXCLUSIVE_HOLDER));
    }

    /** What is compared after that. */
    boolean isGrantable(State s, Late.SharedGrant grant) {
        boolean lives =
                grant.node() == HolderRow.NO_NODE || s.db().node(grant.node()).isPresent();
        int used = scenario.keeps(Rule.COMPARE_THE_LIMIT_IN_THE_GRANT) ? s.db().used(scenario) : grant.used();
        return lives && (!scenario.isOfSemaphore() || used + grant.permits() <= scenario.limit());
    }

    /** The grant, executed. */
    Pending pending(State s, int service, Late.SharedGrant grant) {
        boolean isOwnerWritten = scenario.keeps(Rule.ANOTHER_OWNER_EACH);
        LockRow row = s.db().row().grantedShared(isOwnerWritten ? grant.owner() : LockRow.NOBODY);
        int token = scenario.keeps(Rule.TOKEN_IN_THE_GRANT)
                ? row.token()
                : grant.seen().token() + 1;
        return new Pending(service, row, HolderRow.added(token, grant.owner(), grant.node(), grant.permits()));
    }

    private void commit(State s, int i, Attempt attempt, Steps<State> out) {
        Pending pending = s.db().pending();
        State unanswered = s.with(i, withoutAnswer(attempt));
        if (pending == null || pending.service() != i) {
            out.add("has lost its connection", scenario.who(i), Cause.PROGRAM, unanswered);
            return;
        }
        if (s.budget().losses() > 0) {
            out.add(
                    "has no answer to its commit, which is on its way",
                    scenario.who(i),
                    Cause.FAULT,
                    unanswered
                            .abandoningGrant(i)
                            .with(s.budget().losses(s.budget().losses() - 1)));
        }
        State done = committed(s, pending);
        Hold hold = Hold.of(pending.holder(), attempt.target());
        writes.add(
                "is granted, token " + pending.holder().token(),
                i,
                done.with(i, s.service(i).holding(hold)),
                done.with(i, withoutAnswer(attempt)),
                out);
    }

    /** After the commit, whoever waits for its answer. */
    State committed(State s, Pending pending) {
        State done =
                s.with(s.db().with(pending.row()).withHolder(pending.holder()).with((Pending) null));
        return writes.isStandbyAway(s)
                ? done
                : done.with(s.ledger().shared(pending.holder().token()));
    }

    private Attempt withoutAnswer(Attempt attempt) {
        return scenario.keeps(Rule.SETTLE_THE_UNANSWERED) ? attempt.unanswered() : attempt.looking();
    }

    /** Makes the grant impossible, looks whether it has happened, and writes its row: a failover could undo what a look shows. */
    private void settle(State s, int i, Attempt attempt, Steps<State> out) {
        Optional<HolderRow> mine = s.db().holderOf(attempt.owner());
        if (s.isRowLocked() || mine.filter(s::isLocked).isPresent()) {
            return;
        }
        State superseded = s.with(superseded(s.db().row(), attempt.basis().version()));
        State untold = superseded.with(i, attempt);
        if (mine.isEmpty()) {
            writes.add("makes its grant impossible", i, superseded.with(i, attempt.looking()), untold, out);
        } else if (isUsable(s, i, mine.get())) {
            Hold hold = Hold.of(mine.get(), s.db().timeUntilOver(mine.get()));
            State told = superseded.with(i, s.service(i).holding(hold));
            writes.add("finds its grant", i, counted(told, hold.token()), counted(untold, hold.token()), out);
        } else {
            Database without = superseded.db().withoutHolder(mine.get().token());
            writes.add(
                    "finds its grant over",
                    i,
                    superseded.with(without).with(i, attempt.looking()),
                    untold.with(without),
                    out);
        }
    }

    private State counted(State s, int token) {
        return writes.isStandbyAway(s) ? s : s.with(s.ledger().confirmed(token));
    }

    private static boolean isUsable(State s, int i, HolderRow mine) {
        return s.db().standing(mine) == Standing.ALIVE
                && (!mine.isThroughNode() || mine.node() == s.service(i).nodeId());
    }

    /** The row after all grants have become impossible that were based on this version. */
    LockRow superseded(LockRow row, int version) {
        if (!scenario.keeps(Rule.SUPERSEDE_THE_WINDOW)) {
            return row.version() == version ? row.withVersion(version + 1) : row;
        }
        return row.withVersion(Math.max(row.version(), version + Scenario.WINDOW));
    }

    private void giveUp(State s, int i, Attempt attempt, Steps<State> out) {
        if (s.service(i).settlement() == null) {
            Settlement open = new Settlement(attempt.owner(), attempt.basis().version());
            out.add(
                    "gives up, with a grant to settle",
                    scenario.who(i),
                    Cause.USER,
                    s.with(i, s.service(i).withoutAttempt().with(open)));
        }
    }
}
