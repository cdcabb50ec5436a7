package io.github.holdfast.faults.model;

import io.github.holdfast.faults.model.Attempt.Phase;
import io.github.holdfast.faults.model.Hold.Stage;
import io.github.holdfast.faults.model.Scenario.Kind;
import io.github.holdfast.faults.model.Seen.Standing;
import io.github.holdfast.faults.model.Service.LocalNode;
import io.github.holdfast.faults.model.Service.Settlement;
import java.util.Objects;

/** Read the row with the clock, decide, write by compare-and-set; and what to do when there was no answer. */
record Acquiring(Scenario scenario, Adopting adopting) {

    void steps(State s, int i, Steps<State> out) {
        if (scenario.kinds().get(i) == Kind.ROW_LOCK) {
            return;
        }
        Service me = s.service(i);
        Attempt attempt = me.attempt();
        if (attempt == null) {
            if (me.isIdle() && s.budget().acquisitions() > 0) {
                out.add("begins to acquire", i, begun(s, i));
            }
            return;
        }
        switch (attempt.phase()) {
            case LOOKING -> {
                look(s, i, attempt, out);
                giveUp(s, i, attempt, out);
            }
            case SEEN -> judge(s, i, attempt, out);
            case ADOPTING -> adopting.steps(s, i, attempt, out);
            case ENDING -> end(s, i, attempt, out);
            case DECIDED -> {
                out.add("sends the grant", i, sent(s, i, attempt));
                giveUp(s, i, attempt, out);
            }
            case SENT -> execute(s, i, attempt, out);
            case GRANTED -> out.add("is told that it has the lock", i, answered(s, i, attempt));
        }
    }

    private static State begun(State s, int i) {
        return s.with(i, s.service(i).with(Attempt.begun(s.newOwner())))
                .with(s.budget().lessAcquisition());
    }

    /** The statement takes its snapshot. A lock without a lease needs a living node first. */
    private void look(State s, int i, Attempt attempt, Steps<State> out) {
        Service me = s.service(i);
        if (scenario.kinds().get(i) == Kind.LEASE) {
            out.add("reads", i, s.with(i, me.with(attempt.seen(Seen.of(s.db()), LockRow.NO_NODE))));
        } else if (me.node() == null) {
            register(s, i, out);
        } else if (me.node().left() > 0) {
            out.add(
                    "reads",
                    i,
                    s.with(i, me.with(attempt.seen(Seen.of(s.db()), me.node().id()))));
        }
    }

    private void register(State s, int i, Steps<State> out) {
        if (!s.db().isStandbyAway()) {
            int id = s.newNode();
            boolean isElsewhere = scenario.kinds().get(i) == Kind.THROUGH_NODE_ELSEWHERE;
            NodeRow registered = NodeRow.registered(id, isElsewhere, scenario.leaseForOthers());
            out.add(
                    "registers node " + id,
                    i,
                    s.with(s.db().withNode(registered))
                            .with(i, s.service(i).with(new LocalNode(id, Scenario.LEASE, 0))));
        }
    }

    private void judge(State s, int i, Attempt attempt, Steps<State> out) {
        Service me = s.service(i);
        Seen seen = Objects.requireNonNull(attempt.seen());
        Attempt resolved = isResolved(attempt, seen) ? resolved(attempt) : attempt;
        Standing standing = seen.standing(attempt.owner(), scenario.tolerance());
        switch (standing) {
            case MISSING -> create(s, i, resolved, out);
            case FREE -> out.add("sees it free", i, s.with(i, me.with(resolved.decided(grant(attempt, seen)))));
            case MINE -> out.add("sees its own grant", i, adopting.mine(s, i, attempt, resolved));
            case NODE_OVERDUE -> out.add("sees the node overdue", i, s.with(i, me.with(overdue(resolved, seen))));
            case HELD, DELAYED -> out.add("sees it held", i, s.with(i, me.with(held(resolved, seen))));
        }
    }

    /** Whether the look tells that the unanswered grant is in the row, or impossible. */
    private boolean isResolved(Attempt attempt, Seen seen) {
        if (attempt.unanswered() == Attempt.NONE) {
            return false;
        }
        return seen.row() == null
                || seen.row().version() != attempt.unanswered()
                || !scenario.keeps(Rule.A_LOOK_PROVES_NO_ABSENCE);
    }

    private static Attempt resolved(Attempt attempt) {
        return new Attempt(
                attempt.owner(),
                attempt.node(),
                attempt.phase(),
                Attempt.NONE,
                attempt.doubtful(),
                attempt.seen(),
                attempt.grant(),
                0,
                attempt.wasMissed());
    }

    private void create(State s, int i, Attempt resolved, Steps<State> out) {
        if (!s.db().isStandbyAway()) {
            State created = s.db().row() == null ? s.with(s.db().withCreated(scenario.rules())) : s;
            out.add("creates the row", i, created.with(i, s.service(i).with(resolved.looking())));
        }
    }

    private Grant grant(Attempt attempt, Seen seen) {
        Grant grant = Grant.decided(attempt, Objects.requireNonNull(seen.row()), scenario.block(attempt.node()));
        return scenario.keeps(Rule.EXPIRY_IN_THE_WRITE) ? grant : grant.withLeaseFromTheRead(scenario.leaseForOthers());
    }

    private Attempt overdue(Attempt attempt, Seen seen) {
        return scenario.keeps(Rule.END_THE_NODE_FIRST)
                ? attempt.ending(grant(attempt, seen))
                : attempt.decided(grant(attempt, seen).judging(0));
    }

    /** Without the rule, the statement that takes the lock also judges the node; then it is sent whatever was seen. */
    private Attempt held(Attempt attempt, Seen seen) {
        boolean isThroughNode = seen.row() != null && seen.row().node() != LockRow.NO_NODE;
        return isThroughNode && !scenario.keeps(Rule.END_THE_NODE_FIRST)
                ? attempt.decided(grant(attempt, seen).judging(0))
                : attempt.looking();
    }

    /** Whoever has the node's row locked, a heartbeat, is waited for. Then the lock is looked at again. */
    private void end(State s, int i, Attempt attempt, Steps<State> out) {
        Grant afterwards = Objects.requireNonNull(attempt.grant());
        int node = nodeToEnd(s, afterwards);
        if (s.db().isPending(node) || s.db().isStandbyAway()) {
            return;
        }
        Database db = s.db().isOverdue(node) ? s.db().withoutNode(node) : s.db();
        Attempt next = scenario.keeps(Rule.HEED_THE_COUNT_OF_THE_END) ? attempt.looking() : attempt.decided(afterwards);
        out.add(
                "ends the node if it is overdue",
                i,
                s.with(db).with(i, s.service(i).with(next)));
    }

    /** The node of the row that was seen, if that is still the row. */
    private static int nodeToEnd(State s, Grant afterwards) {
        LockRow row = s.db().row();
        return row != null && row.version() == afterwards.version() ? row.node() : LockRow.NO_NODE;
    }

    private static State sent(State s, int i, Attempt attempt) {
        Grant grant = Objects.requireNonNull(attempt.grant());
        Grant sent =
                grant.isJudging() ? grant.judging(Math.max(0, Seen.of(s.db()).nodeLeft())) : grant;
        return s.with(i, s.service(i).with(attempt.sent(sent)));
    }

    private void execute(State s, int i, Attempt attempt, Steps<State> out) {
        if (s.isRowLocked()) {
            return;
        }
        Grant grant = Objects.requireNonNull(attempt.grant());
        LockRow row = s.db().row();
        if (row == null || !grant.matches(row, scenario.rules())) {
            out.add("finds the row changed", i, s.with(i, s.service(i).with(attempt.looking())));
            return;
        }
        if (mayMissItsNode(s, grant)) {
            // It would go on through another node; the next acquisition does that.
            giveUp(s, i, attempt, out);
        }
        if (missesItsNode(s, grant)) {
            return;
        }
        String token = "token " + grant.newToken();
        State done = granted(s, row, grant).with(i, s.service(i).with(attempt.granted()));
        if (!s.db().isStandbyAway()) {
            out.add("is granted " + token, i, done);
        } else if (s.isCancellable()) {
            State told =
                    scenario.keeps(Rule.BELIEVE_NO_CANCELLED_WRITE) ? withoutAnswer(done, i, attempt.granted()) : done;
            out.addFault("is granted " + token + " by the primary alone, its wait is cancelled", i, told.cancelled());
        }
    }

    /** The statement may see a node as it was before it was ended, and not each one looks for the node. */
    private boolean mayMissItsNode(State s, Grant grant) {
        return scenario.keeps(Rule.GRANT_DEMANDS_ITS_NODE)
                && grant.node() != LockRow.NO_NODE
                && s.db().nodeBesideTheLock(grant.node()).isEmpty();
    }

    /** A node whose row is in another database, no statement sees. */
    boolean missesItsNode(State s, Grant grant) {
        return mayMissItsNode(s, grant) && s.db().node(grant.node()).isPresent();
    }

    /** The row after a grant, whoever waits for it. */
    State granted(State s, LockRow row, Grant grant) {
        State granted = s.with(row.granted(grant, scenario.leaseInTheRow(grant)));
        return s.db().isStandbyAway() ? granted : granted.with(s.ledger().granted(grant.newToken()));
    }

    /** If a reconciliation may have missed the hold, it is looked whether the grant stands before the user is told. */
    private State answered(State s, int i, Attempt attempt) {
        Hold hold = hold(s, i, attempt);
        LockRow row = s.db().row();
        boolean isGone = attempt.wasMissed() && (row == null || !row.shows(hold));
        Hold told = hold.stage() == Stage.UNCONFIRMED ? hold.in(Stage.CONFIRMED) : hold;
        return s.told(i, isGone ? hold.lost() : told);
    }

    /** That look is not answered: the user has the lock, and it is looked again later. */
    State answeredOnly(State s, int i, Attempt attempt) {
        return s.told(i, hold(s, i, attempt));
    }

    private Hold hold(State s, int i, Attempt attempt) {
        Grant grant = Objects.requireNonNull(attempt.grant());
        Hold hold = Hold.granted(
                grant.owner(),
                grant.newToken(),
                grant.node(),
                attempt.validFor(),
                adopting.stage(attempt),
                scenario.block(grant.node()) - 1);
        return s.service(i).onItsNode(hold);
    }

    private static void giveUp(State s, int i, Attempt attempt, Steps<State> out) {
        Service me = s.service(i);
        if (attempt.unanswered() == Attempt.NONE) {
            out.add("gives up", i, s.with(i, me.withoutAttempt()));
        } else if (me.settlement() == null) {
            Settlement settlement = new Settlement(attempt.owner(), attempt.unanswered());
            out.add(
                    "gives up, with a grant to settle",
                    i,
                    s.with(i, me.withoutAttempt().with(settlement)));
        }
    }

    /** The grant had no answer: the next look tells, and the statement may still be on its way. */
    State withoutAnswer(State s, int i, Attempt attempt) {
        Grant grant = Objects.requireNonNull(attempt.grant());
        State waiting =
                s.with(i, s.service(i).with(attempt.looking(grant.version(), scenario.doubtful(grant.newToken()))));
        return attempt.phase() == Phase.SENT ? waiting.sending(grant) : waiting;
    }
}
