package io.github.holdfast.faults.model.waiting;

import io.github.holdfast.faults.model.Steps;
import io.github.holdfast.faults.model.Steps.Cause;
import io.github.holdfast.faults.model.waiting.Caller.Note;
import io.github.holdfast.faults.model.waiting.Caller.Phase;
import io.github.holdfast.faults.model.waiting.Service.What;
import io.github.holdfast.faults.model.waiting.State.Ticket;
import java.util.ArrayList;
import java.util.List;

/** What a thread does that cannot have the lock now: it places its ticket, sleeps, is woken, or gives up. */
record Pausing(Scenario scenario, Waiters waiters) {

    void steps(State s, int t, Steps<State> out) {
        Caller me = s.caller(t);
        switch (me.phase()) {
            case TURNED_AWAY -> {
                out.add("goes on waiting", waiters.name(t), Cause.PROGRAM, announced(s, t, me));
                giveUp(s, t, me, out);
            }
            case INSERTING -> insert(s, t, me, out);
            case DOZING -> {
                Caller looking = me.has(Note.VISIBLE) ? awake(me) : me.in(Phase.LOOKING);
                out.add("looks again soon", waiters.name(t), Cause.PROGRAM, s.with(t, looking));
                giveUp(s, t, me, out);
            }
            case SLEEPING -> {
                if (me.has(Note.NOTIFIED) || me.has(Note.WOKEN)) {
                    out.add("wakes up", waiters.name(t), Cause.PROGRAM, s.with(t, awake(me)));
                } else if (isFirstToBeRung(s, t, me)) {
                    ringFirst(s, t, out);
                }
                giveUp(s, t, me, out);
            }
            default -> {}
        }
    }

    /** Whether the lock is free, but a thread of another service is first. */
    private boolean isFirstToBeRung(State s, int t, Caller me) {
        return s.isFree()
                && scenario.threads().get(t).isFair()
                && scenario.keeps(Rule.RING_THE_FIRST)
                && s.firstInQueue().filter(first -> first.rank() != me.rank()).isPresent();
    }

    private void ringFirst(State s, int t, Steps<State> out) {
        waiters.toRing(s, scenario.threads().get(t).service())
                .filter(next -> s.service(next).isAlive())
                .ifPresent(next -> out.add(
                        "has waited for long, and rings service " + next,
                        waiters.name(t),
                        Cause.TIME,
                        Waiters.rung(s, next)));
    }

    private static Caller awake(Caller me) {
        Caller looking = me.without(Note.NOTIFIED, Note.WOKEN).in(Phase.LOOKING);
        return me.has(Note.NOTIFIED) ? looking.with(Note.TO_ATTEMPT) : looking;
    }

    /** It makes a difference whether it gives up before it pauses only if it was rung. */
    State turnedAway(State s, int t, Caller me) {
        return me.has(Note.TO_ATTEMPT) && s.budget().departures() > 0
                ? s.with(t, me.in(Phase.TURNED_AWAY))
                : announced(s, t, me);
    }

    /** The mark is written if it must be. Then comes the ticket, unless the database shows it. */
    private State announced(State s, int t, Caller me) {
        State marked = s.with(scenario.threads().get(t).service(), Service::marked);
        Caller pausing = me.without(Note.TO_ATTEMPT);
        return marked.with(
                t,
                me.has(Note.VISIBLE)
                        ? pausing.in(Phase.SLEEPING)
                        : pausing.with(Note.TAKEN).in(Phase.INSERTING));
    }

    private void insert(State s, int t, Caller me, Steps<State> out) {
        Ticket ticket = ticket(t, me);
        Caller placed = me.with(Note.VISIBLE, Note.ANNOUNCED).in(afterTicket(t, me));
        out.add(
                "places its ticket",
                waiters.name(t),
                Cause.PROGRAM,
                s.with(ticket).with(t, placed));
        if (s.budget().losses() > 0) {
            State lossy = s.with(s.budget().losses(s.budget().losses() - 1)).with(t, me.in(Phase.DOZING));
            out.add("has no answer to its ticket", waiters.name(t), Cause.FAULT, lossy.with(ticket));
            List<Ticket> late = new ArrayList<>(s.lateInserts());
            late.add(ticket);
            out.add(
                    "has no answer to its ticket, which is still on its way",
                    waiters.name(t),
                    Cause.FAULT,
                    lossy.withLate(late, s.lateDeletes()));
        }
    }

    Ticket ticket(int t, Caller me) {
        return new Ticket(
                me.rank(),
                scenario.threads().get(t).service(),
                scenario.threads().get(t).isFair());
    }

    /** A fair thread looks at once, another one after a short sleep. */
    private Phase afterTicket(int t, Caller me) {
        Rule rule = me.has(Note.ANNOUNCED) ? Rule.LOOK_AFTER_EACH_TICKET : Rule.LOOK_AFTER_TICKET;
        if (!scenario.keeps(rule)) {
            return Phase.SLEEPING;
        }
        return scenario.threads().get(t).isFair() ? Phase.LOOKING : Phase.DOZING;
    }

    private void giveUp(State s, int t, Caller me, Steps<State> out) {
        if (s.budget().departures() > 0) {
            State fewer = s.with(s.budget().departures(s.budget().departures() - 1));
            out.add("gives up", waiters.name(t), Cause.USER, left(fewer, t, me));
        }
    }

    private State left(State s, int t, Caller me) {
        int service = scenario.threads().get(t).service();
        boolean isFair = scenario.threads().get(t).isFair();
        State left = s.with(t, Caller.IDLE).notBehind(1 << t);
        if (me.has(Note.TAKEN)) {
            left = left.with(service, own -> own.later(What.REMOVE_TICKET, me.rank()));
            if (isFair) {
                left = left.with(service, own -> own.later(What.WAKE_OWN, 0));
            }
        }
        boolean isRingUnused = me.has(Note.NOTIFIED) || me.has(Note.TO_ATTEMPT);
        boolean isToRing = (isRingUnused && scenario.keeps(Rule.PASS_THE_RING_ON))
                || (isFair && me.has(Note.TAKEN) && scenario.keeps(Rule.RING_WHEN_LEAVING_THE_QUEUE));
        return isToRing ? left.with(service, own -> own.later(What.RING_NEXT, 0)) : left;
    }
}
