package io.github.holdfast.faults.model.waiting;

import io.github.holdfast.faults.model.Steps;
import io.github.holdfast.faults.model.Steps.Cause;
import io.github.holdfast.faults.model.waiting.Caller.Note;
import io.github.holdfast.faults.model.waiting.Caller.Phase;
import io.github.holdfast.faults.model.waiting.Service.Releases;
import io.github.holdfast.faults.model.waiting.Service.What;
import io.github.holdfast.faults.model.waiting.State.Ticket;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** What a thread does that has the lock: it leaves its place, and releases the lock, which rings. */
record Holding(Scenario scenario, Waiters waiters) {

    void steps(State s, int t, Steps<State> out) {
        Caller me = s.caller(t);
        switch (me.phase()) {
            case GRANTED -> leavePlace(s, t, me, out);
            case HOLDING -> release(s, t, me, out);
            case RELEASED -> wakeOwn(s, t, me, out);
            default -> {}
        }
    }

    /** A fair thread removes its ticket before it returns, another one in the background. */
    State granted(State s, int t, Caller me) {
        if (me.has(Note.TAKEN) && scenario.threads().get(t).isFair()) {
            return s.with(t, me.in(scenario.keeps(Rule.LEAVE_AFTER_THE_GRANT) ? Phase.GRANTED : Phase.HOLDING));
        }
        State holding = s.with(t, Caller.IDLE.in(Phase.HOLDING));
        return me.has(Note.TAKEN)
                ? holding.with(scenario.threads().get(t).service(), own -> own.later(What.REMOVE_TICKET, me.rank()))
                : holding;
    }

    private void leavePlace(State s, int t, Caller me, Steps<State> out) {
        State holding = s.with(t, Caller.IDLE.in(Phase.HOLDING));
        out.add("removes its ticket", waiters.name(t), Cause.PROGRAM, holding.withoutTicket(me.rank()));
        if (s.budget().losses() > 0) {
            List<Ticket> late = new ArrayList<>(s.lateDeletes());
            late.add(new Ticket(me.rank(), scenario.threads().get(t).service(), true));
            out.add(
                    "cannot remove its ticket",
                    waiters.name(t),
                    Cause.FAULT,
                    holding.with(s.budget().losses(s.budget().losses() - 1)).withLate(s.lateInserts(), late));
        }
    }

    private void release(State s, int t, Caller me, Steps<State> out) {
        int service = scenario.threads().get(t).service();
        boolean isAlone = waiters.threads(service) == 1 << t && !me.has(Note.TAKEN);
        State free = s.with(t, isAlone ? Caller.IDLE : me.in(Phase.RELEASED)).heldBy(State.NOBODY);
        boolean asks =
                scenario.keeps(Rule.RING_ON_RELEASE) && s.service(service).releases() != Releases.DO_NOT_ASK;
        Optional<Integer> next = asks ? waiters.toRing(s, service) : Optional.<Integer>empty();
        State ringing = next.isPresent() ? free.with(service, own -> own.later(What.RING, next.get())) : free;
        out.add("releases the lock", waiters.name(t), Cause.TIME, isAnyHidden(s) ? ringing.excused() : ringing);
        if (s.budget().losses() > 0) {
            out.add(
                    "has no answer to its release",
                    waiters.name(t),
                    Cause.FAULT,
                    free.with(s.budget().losses(s.budget().losses() - 1)).excused());
        }
    }

    /** Whether a service waits that was paused for so long that the release does not see it. */
    private boolean isAnyHidden(State s) {
        return s.threads()
                .anyMatch(t -> s.caller(t).isWaiting()
                        && !s.service(scenario.threads().get(t).service()).isMarked());
    }

    private void wakeOwn(State s, int t, Caller me, Steps<State> out) {
        int service = scenario.threads().get(t).service();
        State done = s.with(t, Caller.IDLE);
        State left = me.has(Note.TAKEN) ? done.withoutTicket(me.rank()) : done;
        out.add(
                "wakes the waiters of its service",
                waiters.name(t),
                Cause.PROGRAM,
                scenario.keeps(Rule.WAKE_OWN) ? waiters.noting(left, service, Note.WOKEN) : left);
    }
}
