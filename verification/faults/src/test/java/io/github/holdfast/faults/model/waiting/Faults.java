package io.github.holdfast.faults.model.waiting;

import io.github.holdfast.faults.model.Steps;
import io.github.holdfast.faults.model.Steps.Cause;
import io.github.holdfast.faults.model.waiting.Caller.Phase;
import io.github.holdfast.faults.model.waiting.State.Ticket;
import java.util.ArrayList;
import java.util.List;

/** Crashes and pauses, the marks and leases that end, and statements that arrive late. */
record Faults(Scenario scenario, Waiters waiters) {

    void steps(State s, int service, Steps<State> out) {
        Service me = s.service(service);
        if (me.isAlive() && s.budget().crashes() > 0) {
            out.add("crashes", Ringing.name(service), Cause.FAULT, crashed(s, service));
        }
        boolean isWaiting = !waiters.of(s, service).isEmpty();
        if (me.isAlive() && me.isMarked() && isWaiting && s.budget().pauses() > 0) {
            State paused = s.with(s.budget().pauses(s.budget().pauses() - 1)).excused();
            out.add("is paused until its mark is over", Ringing.name(service), Cause.FAULT, unmarked(paused, service));
        }
        boolean isEnding =
                me.isAlive() ? !isWaiting && service >= s.budget().otherWaiters() : scenario.keeps(Rule.MARKS_END);
        if (me.isMarked() && isEnding) {
            out.add(
                    "is no longer marked",
                    Ringing.name(service),
                    Cause.TIME,
                    unmarked(s, service).excused());
        }
    }

    void steps(State s, Steps<State> out) {
        if (!s.isFree() && s.caller(s.holder()).is(Phase.GONE)) {
            out.add(
                    "the lease of the dead holder ends",
                    "",
                    Cause.TIME,
                    s.heldBy(State.NOBODY).excused());
        }
        for (Ticket late : s.lateInserts()) {
            State arrived = s.withLate(without(s.lateInserts(), late), s.lateDeletes());
            out.add("a late ticket arrives", "", Cause.PROGRAM, arrived.with(late));
            out.add("a late ticket never arrives", "", Cause.PROGRAM, arrived);
        }
        for (Ticket late : s.lateDeletes()) {
            out.add(
                    "a ticket is removed late",
                    "",
                    Cause.PROGRAM,
                    s.withLate(s.lateInserts(), without(s.lateDeletes(), late))
                            .withoutTicket(late.rank())
                            .excused());
        }
    }

    private static List<Ticket> without(List<Ticket> tickets, Ticket one) {
        return tickets.stream().filter(ticket -> !ticket.equals(one)).toList();
    }

    private State unmarked(State s, int service) {
        return s.with(service, Service::unmarked).notBehind(waiters.threads(service));
    }

    /** What it has sent may still arrive. */
    private State crashed(State s, int service) {
        State gone = s.with(s.budget().crashes(s.budget().crashes() - 1))
                .with(service, Service::crashed)
                .notBehind(waiters.threads(service))
                .excused();
        List<Ticket> late = new ArrayList<>(s.lateInserts());
        for (int t = 0; t < s.callers().size(); t++) {
            if (scenario.threads().get(t).service() == service) {
                if (s.caller(t).is(Phase.INSERTING)) {
                    late.add(new Ticket(
                            s.caller(t).rank(),
                            service,
                            scenario.threads().get(t).isFair()));
                }
                gone = gone.with(t, Caller.GONE);
            }
        }
        return gone.withLate(late, s.lateDeletes());
    }
}
