package io.github.holdfast.faults.model.waiting;

import io.github.holdfast.faults.model.Steps;
import io.github.holdfast.faults.model.Steps.Cause;
import io.github.holdfast.faults.model.waiting.Caller.Note;
import io.github.holdfast.faults.model.waiting.State.Ticket;
import java.util.Optional;

/** What a thread does while it is awake: it reads the row, and the queue if it is fair, and writes the grant. */
record Acquiring(Scenario scenario, Waiters waiters, Pausing pausing, Holding holding) {

    void steps(State s, int t, Steps<State> out) {
        Caller me = s.caller(t);
        switch (me.phase()) {
            case IDLE -> {
                if (s.budget().requests() > 0) {
                    look(s.with(s.budget().lessRequest()), t, Cause.USER, out);
                } else if (s.isOnlyStrayLeft()) {
                    look(s, t, Cause.USER, out);
                }
            }
            case LOOKING -> look(s, t, Cause.PROGRAM, out);
            case TURN_SEEN -> readRow(s, t, Cause.PROGRAM, out);
            case FREE_SEEN -> readQueue(s, t, out);
            case DECIDED -> grant(s, t, out);
            default -> {}
        }
    }

    private void look(State s, int t, Cause cause, Steps<State> out) {
        if (isQueueFirst(t)) {
            readQueueFirst(s, t, cause, out);
        } else {
            readRow(s, t, cause, out);
        }
    }

    private String name(int t) {
        return waiters.name(t);
    }

    private boolean isFair(int t) {
        return scenario.threads().get(t).isFair();
    }

    private boolean isQueueFirst(int t) {
        return isFair(t) && scenario.keeps(Rule.CHECK_THE_QUEUE) && !scenario.keeps(Rule.ROW_BEFORE_QUEUE);
    }

    /** Its time is that of the last look before it takes its place. */
    private static Caller timed(State s, Caller me) {
        return me.has(Note.TAKEN) ? me : me.at(s.newRank());
    }

    private void readRow(State s, int t, Cause cause, Steps<State> out) {
        Caller me = timed(s, s.caller(t)).without(Note.OVERTAKEN);
        if (!s.isFree()) {
            out.add("sees it held", name(t), cause, pausing.turnedAway(s, t, me.behind(0)));
            return;
        }
        boolean isToReadQueue = isFair(t) && scenario.keeps(Rule.CHECK_THE_QUEUE) && !isQueueFirst(t);
        Caller next =
                isToReadQueue ? me.in(Caller.Phase.FREE_SEEN) : placeless(me).in(Caller.Phase.DECIDED);
        out.add(
                "sees it free",
                name(t),
                cause,
                s.with(t, isFair(t) ? next.behind(waiters.before(s, me.rank())) : next));
    }

    private static Caller placeless(Caller me) {
        return me.has(Note.TAKEN) ? me : me.at(Caller.NO_RANK);
    }

    private void readQueue(State s, int t, Steps<State> out) {
        Caller me = s.caller(t);
        if (isItsTurn(s, me)) {
            out.add(
                    "sees that it is its turn",
                    name(t),
                    Cause.PROGRAM,
                    s.with(t, placeless(me).in(Caller.Phase.DECIDED)));
        } else {
            turnAway(s, t, me, Cause.PROGRAM, out);
        }
    }

    private void readQueueFirst(State s, int t, Cause cause, Steps<State> out) {
        Caller me = timed(s, s.caller(t));
        if (isItsTurn(s, me)) {
            out.add("sees that it is its turn", name(t), cause, s.with(t, me.in(Caller.Phase.TURN_SEEN)));
        } else {
            turnAway(s, t, me, cause, out);
        }
    }

    private static boolean isItsTurn(State s, Caller me) {
        Optional<Ticket> first = s.firstInQueue();
        return first.isEmpty() || (me.has(Note.TAKEN) && first.get().rank() == me.rank());
    }

    /** A stray place of the own service is removed by who finds it first in the queue. */
    private void turnAway(State s, int t, Caller me, Cause cause, Steps<State> out) {
        State away = pausing.turnedAway(s, t, me.behind(0).without(Note.OVERTAKEN));
        Ticket first = s.firstInQueue().orElseThrow();
        int service = scenario.threads().get(t).service();
        boolean isStray = first.service() == service
                && s.callers().stream().noneMatch(caller -> caller.has(Note.TAKEN) && caller.rank() == first.rank());
        out.add(
                "sees that others are before it",
                name(t),
                cause,
                isStray && scenario.keeps(Rule.REMOVE_STRAY)
                        ? away.with(service, own -> own.later(Service.What.REMOVE_STRAY, first.rank()))
                        : away);
    }

    private void grant(State s, int t, Steps<State> out) {
        Caller me = s.caller(t);
        if (me.has(Note.OVERTAKEN) && scenario.keeps(Rule.COMPARE_THE_VERSION)) {
            out.add(
                    "finds the row changed",
                    name(t),
                    Cause.PROGRAM,
                    s.with(t, me.behind(0).without(Note.OVERTAKEN).in(Caller.Phase.LOOKING)));
            return;
        }
        Caller granted = me.behind(0)
                .without(Note.OVERTAKEN, Note.NOTIFIED, Note.WOKEN, Note.TO_ATTEMPT)
                .in(Caller.Phase.GRANTED);
        State done = holding.granted(s.heldBy(t).notBehind(1 << t), t, granted);
        boolean isEarly = isFair(t) && me.ahead() != 0;
        out.add("is granted the lock", name(t), Cause.PROGRAM, isEarly ? done.outOfOrder() : done);
    }
}
