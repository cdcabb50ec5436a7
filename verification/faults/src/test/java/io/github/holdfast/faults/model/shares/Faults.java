package io.github.holdfast.faults.model.shares;

import io.github.holdfast.faults.model.Steps;
import io.github.holdfast.faults.model.Steps.Cause;
import io.github.holdfast.faults.model.shares.Attempt.Phase;
import io.github.holdfast.faults.model.shares.Database.Pending;

/** Crashes, time that passes, servers that are behind, and what arrives late. */
record Faults(Scenario scenario, Writes writes, Sharing sharing, Taking taking, Downgrading downgrading) {

    private static final String NOBODY = "";

    void steps(State s, Steps<State> out) {
        boolean isPause = s.services().stream()
                .anyMatch(service -> service.node() != null && service.node().left() == 1);
        if (isPause) {
            out.add("time passes, and a node is not kept alive", NOBODY, Cause.FAULT, s.later());
        } else {
            out.add("time passes", NOBODY, Cause.TIME, s.later());
        }
        servers(s, out);
        if (!writes.isStandbyAway(s)) {
            s.network().stream().distinct().forEach(late -> arrive(s, late, out));
            abandoned(s, out);
        }
        for (NodeRow node : s.db().nodes()) {
            if (node.isOverdue() && !node.isPending() && !writes.isStandbyAway(s)) {
                out.add("housekeeping ends a node", NOBODY, Cause.PROGRAM, s.with(s.db().withoutNode(node.id())));
            }
        }
    }

    private void servers(State s, Steps<State> out) {
        Budget budget = s.budget();
        if (s.db().copy() != null) {
            out.add("the other server catches up", NOBODY, Cause.PROGRAM, s.with(s.db().withoutCopy()));
        } else if (budget.cancellations() > 0) {
            out.add("the standby is cut off", NOBODY, Cause.FAULT, s.with(s.db().withCopy()));
        } else if (budget.lags() > 0) {
            out.add(
                    "another server falls behind",
                    NOBODY,
                    Cause.FAULT,
                    s.with(s.db().withCopy()).with(budget.lags(budget.lags() - 1)));
        }
        if (budget.failovers() > 0 && writes.isStandbyAway(s)) {
            State gone = s;
            for (Late late : s.network()) {
                gone = gone.without(late);
            }
            out.add(
                    "the standby becomes the primary",
                    NOBODY,
                    Cause.FAULT,
                    gone.with(s.db().failedOver()).with(budget.failovers(budget.failovers() - 1)));
        }
    }

    private void arrive(State s, Late late, Steps<State> out) {
        State arrived = s.without(late);
        LockRow row = s.db().row();
        if (late instanceof Late.Renewal renewal) {
            s.db().holder(renewal.token())
                    .filter(holder -> holder.owner() == renewal.owner() && holder.left() > 0 && !s.isLocked(holder))
                    .ifPresent(holder -> out.add(
                            "a late renewal is executed",
                            NOBODY,
                            Cause.PROGRAM,
                            arrived.with(s.db().withHolder(renewal.token(), HolderRow::renewed))));
        } else if (late instanceof Late.ExclusiveGrant grant) {
            if (!s.isRowLocked() && taking.matches(row, grant.seen())) {
                out.add("a late grant is done", NOBODY, Cause.PROGRAM, taking.granted(arrived, grant.owner()));
            }
        } else if (late instanceof Late.Downgrade downgrade) {
            if (!s.isRowLocked() && downgrading.matches(row, downgrade.seen())) {
                State done = downgrading.downgraded(arrived, downgrade.owner());
                out.add("a late downgrade is done", NOBODY, Cause.PROGRAM, done);
            }
        } else if (late instanceof Late.SharedGrant grant && !s.isRowLocked() && sharing.matches(row, grant.seen())) {
            Pending pending = sharing.pending(s, Pending.NOBODY, grant);
            out.add(
                    "a late grant is executed",
                    NOBODY,
                    Cause.PROGRAM,
                    sharing.isGrantable(s, grant) ? arrived.with(s.db().with(pending)) : arrived.with(pending.row()));
        }
    }

    /** Transactions that nobody waits for are committed, or rolled back. */
    private void abandoned(State s, Steps<State> out) {
        Pending pending = s.db().pending();
        if (pending != null && pending.service() == Pending.NOBODY) {
            out.add("a late grant is committed", NOBODY, Cause.PROGRAM, sharing.committed(s, pending));
            out.add("a late grant is rolled back", NOBODY, Cause.PROGRAM, s.with(s.db().with((Pending) null)));
        }
        for (HolderRow holder : s.db().holders()) {
            if (holder.isPending() && !isAwaited(s, holder)) {
                out.add(
                        "a late renewal is committed",
                        NOBODY,
                        Cause.PROGRAM,
                        s.with(s.db().withHolder(holder.token(), HolderRow::committed)));
                out.add(
                        "a late renewal is rolled back",
                        NOBODY,
                        Cause.PROGRAM,
                        s.with(s.db().withHolder(holder.token(), HolderRow::rolledBack)));
            }
        }
        for (NodeRow node : s.db().nodes()) {
            if (node.isPending() && !isAwaited(s, node)) {
                out.add(
                        "a late beat is committed",
                        NOBODY,
                        Cause.PROGRAM,
                        s.with(s.db().withNode(node.id(), NodeRow::committed)));
                out.add(
                        "a late beat is rolled back",
                        NOBODY,
                        Cause.PROGRAM,
                        s.with(s.db().withNode(node.id(), NodeRow::rolledBack)));
            }
        }
    }

    private static boolean isAwaited(State s, HolderRow holder) {
        return s.services().stream()
                .map(Service::hold)
                .anyMatch(hold -> hold != null && hold.isRenewing() && holder.isOf(hold));
    }

    private static boolean isAwaited(State s, NodeRow node) {
        return s.services().stream()
                .map(Service::node)
                .anyMatch(local -> local != null && local.isBeating() && local.id() == node.id());
    }

    void steps(State s, int i, Steps<State> out) {
        Service me = s.service(i);
        if (s.budget().crashes() == 0 || me.equals(Service.STARTED)) {
            return;
        }
        State gone = s.with(i, Service.STARTED)
                .abandoningGrant(i)
                .with(s.budget().crashes(s.budget().crashes() - 1));
        out.add("crashes and is started again", scenario.who(i), Cause.FAULT, gone);
        Attempt attempt = me.attempt();
        if (attempt != null && attempt.phase() == Phase.DECIDED && scenario.isShared(i)) {
            out.add(
                    "crashes and is started again, with a grant on its way",
                    scenario.who(i),
                    Cause.FAULT,
                    gone.sending(sharing.sent(me, i, attempt)));
        }
    }
}
