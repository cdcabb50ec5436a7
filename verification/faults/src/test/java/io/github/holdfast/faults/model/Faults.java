package io.github.holdfast.faults.model;

import io.github.holdfast.faults.model.Attempt.Phase;
import io.github.holdfast.faults.model.Message.BeatStatement;
import io.github.holdfast.faults.model.Service.Beat;
import io.github.holdfast.faults.model.Service.BeatPhase;
import io.github.holdfast.faults.model.Service.LocalNode;

/** Crashes, answers that are lost, and time that passes: a service that takes no step meanwhile is paused. */
record Faults(Scenario scenario, Acquiring acquiring, Adopting adopting) {

    void steps(State s, Steps<State> out) {
        State later = s.later();
        if (isPause(s)) {
            out.addFault("time passes, and a node is not kept alive", Steps.NOBODY, later);
        } else {
            out.add("time passes", Steps.NOBODY, later);
        }
    }

    /** Whether a living service has not beaten for so long that its node is over with the next tick. */
    private boolean isPause(State s) {
        return s.services().stream()
                .map(Service::node)
                .anyMatch(node -> node != null
                        && node.left() > 0
                        && (node.left() == 1
                                || s.db().node(node.id())
                                        .filter(row -> row.left() == 1 + scenario.tolerance())
                                        .isPresent()));
    }

    void steps(State s, int i, Steps<State> out) {
        Service me = s.service(i);
        if (s.budget().crashes() > 0 && !me.equals(Service.STARTED)) {
            out.addFault(
                    "crashes and is started again",
                    i,
                    crashed(s, i).with(s.budget().lessCrash()));
        }
        if (s.budget().losses() == 0) {
            return;
        }
        State lossy = s.with(s.budget().lessLoss());
        Attempt attempt = me.attempt();
        if (attempt != null && (attempt.phase() == Phase.SENT || attempt.phase() == Phase.GRANTED)) {
            out.addFault("has no answer to its grant", i, acquiring.withoutAnswer(lossy, i, attempt));
        }
        if (attempt != null && attempt.phase() == Phase.GRANTED && attempt.wasMissed()) {
            out.addFault(
                    "is told that it has the lock, and cannot look again",
                    i,
                    acquiring.answeredOnly(lossy, i, attempt));
        }
        if (attempt != null && attempt.phase() == Phase.ADOPTING) {
            adopting.lose(lossy, i, attempt, out);
        }
        Beat beat = me.beat();
        if (beat != null && me.node() != null && beat.phase() != BeatPhase.MISSED) {
            out.addFault("has no answer to its beat", i, Heartbeats.withoutAnswer(lossy, i, me.node(), beat));
        }
        if (me.hold() != null && me.transaction() == null && me.settlement() == null) {
            out.addFault("has no answer to its release", i, Holding.releasedWithoutAnswer(lossy, i, me.hold()));
        }
    }

    /** What it has sent may still arrive; its transactions are rolled back, or commit if that was on its way. */
    private static State crashed(State s, int i) {
        Service me = s.service(i);
        State gone = s.with(i, Service.STARTED);
        Attempt attempt = me.attempt();
        if (attempt != null && attempt.phase() == Phase.SENT) {
            gone = gone.sending(attempt.grant());
        }
        LocalNode node = me.node();
        Beat beat = me.beat();
        return node != null && beat != null && beat.phase() == BeatPhase.SENT
                ? gone.sending(new BeatStatement(node.id(), node.version()))
                : gone;
    }
}
