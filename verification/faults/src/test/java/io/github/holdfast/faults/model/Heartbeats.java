package io.github.holdfast.faults.model;

import io.github.holdfast.faults.model.Hold.Stage;
import io.github.holdfast.faults.model.Message.BeatStatement;
import io.github.holdfast.faults.model.Service.Beat;
import io.github.holdfast.faults.model.Service.BeatPhase;
import io.github.holdfast.faults.model.Service.LocalNode;
import java.util.Optional;

/** A heartbeat is executed, and later committed; in between its row is locked, and others see it as it was. */
record Heartbeats(Scenario scenario, Reconciling reconciling) {

    void steps(State s, int i, Steps<State> out) {
        Service me = s.service(i);
        LocalNode node = me.node();
        if (node == null) {
            return;
        }
        boolean isWritable = !s.db().isPending(node.id()) && !s.db().isStandbyAway();
        if (isWritable) {
            if (node.left() == 0) {
                out.add("ends its node, which is over", i, retired(s, i, node));
                return;
            }
            if (me.attempt() == null && me.transaction() == null && me.beat() == null) {
                State closed = s.with(s.db().withoutNode(node.id())).with(i, Service.STARTED);
                out.addFault("is closed and started again", i, closed);
            }
        }
        Beat beat = me.beat();
        if (beat == null) {
            boolean knowsHold = me.hold() != null && me.hold().stage() == Stage.CONFIRMED;
            // One that was sent in the same tick as the last one would change nothing else.
            if (node.left() > 0 && (node.left() < Scenario.LEASE || knowsHold)) {
                out.add("sends a beat", i, s.with(i, me.with(new Beat(BeatPhase.SENT, Scenario.LEASE, knowsHold))));
            }
            return;
        }
        switch (beat.phase()) {
            case SENT -> execute(s, i, node, beat, out);
            case EXECUTED -> commit(s, i, node, beat, out);
            case COMMITTED -> out.add("is told of its beat", i, s.with(i, beaten(me, node, beat)));
            case MISSED -> missed(s, i, node, out);
        }
    }

    private void execute(State s, int i, LocalNode node, Beat beat, Steps<State> out) {
        Service me = s.service(i);
        Optional<NodeRow> row = s.db().node(node.id());
        if (row.isEmpty() || (!row.get().isPending() && !row.get().isBeatable(node.version(), scenario.tolerance()))) {
            out.add("has missed its beat", i, s.with(i, me.with(beat.in(BeatPhase.MISSED))));
        } else if (!row.get().isPending()) {
            out.add(
                    "has its beat executed",
                    i,
                    s.with(s.db().withNode(node.id(), beaten -> beaten.beaten(scenario.leaseForOthers())))
                            .with(i, me.with(beat.in(BeatPhase.EXECUTED))));
        }
    }

    private void commit(State s, int i, LocalNode node, Beat beat, Steps<State> out) {
        State committed = s.with(s.db().withNode(node.id(), NodeRow::committed));
        State done = committed.with(i, s.service(i).with(beat.in(BeatPhase.COMMITTED)));
        if (!s.db().isStandbyAway()) {
            out.add("has its beat committed", i, done);
        } else if (s.isCancellable()) {
            State told = scenario.keeps(Rule.BELIEVE_NO_CANCELLED_WRITE)
                    ? committed.with(i, s.service(i).withoutBeat())
                    : done;
            out.addFault("has its beat committed by the primary alone, its wait is cancelled", i, told.cancelled());
        }
    }

    /** A node that was over before it was told is over: its holders may have been told. */
    private static Service beaten(Service me, LocalNode node, Beat beat) {
        if (node.left() == 0) {
            return me.withoutBeat();
        }
        Service alive = me.withoutBeat().with(new LocalNode(node.id(), beat.left(), node.version() + 1));
        Hold hold = me.hold();
        boolean isConfirmed = hold != null
                && beat.knowsHold()
                && hold.node() == node.id()
                && hold.stage() == Stage.CONFIRMED
                && hold.left() > 0;
        return isConfirmed && hold != null ? alive.with(hold.in(Stage.LASTS_WITH_NODE)) : alive;
    }

    /** The node was ended, or alerted by a forced release, or an earlier beat was done without an answer. */
    private void missed(State s, int i, LocalNode node, Steps<State> out) {
        Service me = s.service(i).withoutBeat();
        Optional<NodeRow> row = s.db().node(node.id());
        if (row.isPresent() && !row.get().isEnded() && row.get().left() > scenario.tolerance()) {
            State reconciled = reconciling.reconciled(s.with(i, me), i);
            Service told = reconciled.service(i);
            LocalNode moved = new LocalNode(node.id(), node.left(), row.get().version());
            out.add("reads its node, and reconciles", i, reconciled.with(i, told.with(moved)));
        } else if (!s.db().isPending(node.id()) && !s.db().isStandbyAway()) {
            out.add("sees that its node has ended", i, retired(s, i, node));
        }
    }

    /** Ended locally and in the database; it never comes back. */
    private static State retired(State s, int i, LocalNode node) {
        State ended = s.with(s.db().withoutNode(node.id())).with(i, s.service(i).withoutNode());
        Beat beat = s.service(i).beat();
        return beat != null && beat.phase() == BeatPhase.SENT
                ? ended.sending(new BeatStatement(node.id(), node.version()))
                : ended;
    }

    /** The beat had no answer; the statement may still be on its way. */
    static State withoutAnswer(State s, int i, LocalNode node, Beat beat) {
        State waiting = s.with(i, s.service(i).withoutBeat());
        return beat.phase() == BeatPhase.SENT ? waiting.sending(new BeatStatement(node.id(), node.version())) : waiting;
    }
}
