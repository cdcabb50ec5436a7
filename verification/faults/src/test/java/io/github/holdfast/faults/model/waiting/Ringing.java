package io.github.holdfast.faults.model.waiting;

import io.github.holdfast.faults.model.Steps;
import io.github.holdfast.faults.model.Steps.Cause;
import io.github.holdfast.faults.model.waiting.Caller.Note;
import io.github.holdfast.faults.model.waiting.Service.Releases;
import io.github.holdfast.faults.model.waiting.Service.Task;
import io.github.holdfast.faults.model.waiting.Service.What;
import io.github.holdfast.faults.model.waiting.State.Ticket;
import java.util.ArrayList;
import java.util.List;

/** What a service does in the background, on its listening thread, and on its poller's. */
record Ringing(Scenario scenario, Waiters waiters) {

    void steps(State s, int service, Steps<State> out) {
        Service me = s.service(service);
        if (!me.isAlive()) {
            return;
        }
        if (me.isRung()) {
            out.add("hears the ring", name(service), Cause.PROGRAM, heard(s.with(service, Service::quiet), service));
        }
        if (!me.background().isEmpty()) {
            work(s, service, me.background().get(0), out);
        }
        poll(s, service, out);
        ask(s, service, me.releases(), out);
    }

    /** A busy service reads whether another one waits. For a moment after that, its releases do not ask. */
    private void ask(State s, int service, Releases releases, Steps<State> out) {
        switch (releases) {
            case ASK -> {
                if (s.budget().answers() > 0 && waiters.isNoOtherMarked(s, service)) {
                    out.add(
                            "reads that no other service waits",
                            name(service),
                            Cause.TIME,
                            s.with(s.budget().answers(s.budget().answers() - 1))
                                    .with(service, own -> own.releasing(Releases.ABOUT_NOT_TO_ASK)));
                }
            }
            case ABOUT_NOT_TO_ASK ->
                out.add(
                        "learns that no other service waits",
                        name(service),
                        Cause.TIME,
                        s.with(service, own -> own.releasing(Releases.DO_NOT_ASK)));
            case DO_NOT_ASK -> {}
        }
        if (releases != Releases.ASK) {
            out.add("asks again", name(service), Cause.TIME, s.with(service, own -> own.releasing(Releases.ASK)));
        }
    }

    static String name(int service) {
        return "service " + service;
    }

    private State heard(State s, int service) {
        if (!waiters.of(s, service).isEmpty()) {
            return waiters.noting(s, service, Note.NOTIFIED);
        }
        return scenario.keeps(Rule.REMOVE_STRAY) ? s.with(service, own -> own.later(What.CHECK_STRAY, 0)) : s;
    }

    private void work(State s, int service, Task task, Steps<State> out) {
        State done = s.with(service, Service::withoutFirstTask);
        switch (task.what()) {
            case REMOVE_STRAY ->
                out.add(
                        "removes a stray ticket",
                        name(service),
                        Cause.PROGRAM,
                        afterRemoval(done.withoutTicket(task.about()), service));
            case REMOVE_TICKET -> removeTicket(s, done, service, task.about(), out);
            case WAKE_OWN ->
                out.add(
                        "wakes its next waiters",
                        name(service),
                        Cause.PROGRAM,
                        waiters.noting(done, service, Note.WOKEN));
            case RING ->
                out.add(
                        "rings service " + task.about(),
                        name(service),
                        Cause.PROGRAM,
                        Waiters.rung(done, task.about()));
            case RING_NEXT ->
                out.add(
                        "rings the next service",
                        name(service),
                        Cause.PROGRAM,
                        waiters.toRing(s, service)
                                .map(next -> Waiters.rung(done, next))
                                .orElse(done));
            case CHECK_STRAY ->
                out.add("sees whether still nobody waits", name(service), Cause.PROGRAM, checked(s, done, service));
            case REMOVE_ALL ->
                out.add(
                        "removes stray tickets",
                        name(service),
                        Cause.PROGRAM,
                        instead(done, service, What.AFTER_REMOVAL)
                                .notBehind(waiters.threads(service))
                                .withTickets(s.tickets().stream()
                                        .filter(ticket -> ticket.service() != service)
                                        .toList()));
            case AFTER_REMOVAL ->
                out.add("passes the ring on", name(service), Cause.PROGRAM, afterRemoval(done, service));
        }
    }

    private State checked(State s, State done, int service) {
        if (waiters.of(s, service).isEmpty()) {
            return instead(done, service, What.REMOVE_ALL);
        }
        return scenario.keeps(Rule.PASS_ON_WHAT_A_NEWCOMER_CANNOT_USE) ? afterRemoval(done, service) : done;
    }

    private static State instead(State s, int service, What what) {
        List<Task> tasks = new ArrayList<>();
        tasks.add(new Task(what, 0));
        tasks.addAll(s.service(service).background());
        return s.with(service, own -> own.with(tasks));
    }

    private void removeTicket(State s, State done, int service, int rank, Steps<State> out) {
        out.add("removes a ticket", name(service), Cause.PROGRAM, done.withoutTicket(rank));
        if (s.budget().losses() > 0) {
            State lossy = done.with(s.budget().losses(s.budget().losses() - 1));
            List<Ticket> late = new ArrayList<>(s.lateDeletes());
            late.add(new Ticket(rank, service, true));
            out.add("cannot remove a ticket", name(service), Cause.FAULT, lossy.withLate(s.lateInserts(), late));
        }
    }

    /** Threads that have come meanwhile may have lost their tickets too. */
    private State afterRemoval(State s, int service) {
        State hidden = s;
        if (scenario.keeps(Rule.PLACE_AGAIN_AFTER_REMOVAL)) {
            for (int t : waiters.of(s, service)) {
                hidden = hidden.with(t, hidden.caller(t).without(Note.VISIBLE));
            }
        }
        State woken = waiters.noting(hidden, service, Note.WOKEN);
        return scenario.keeps(Rule.PASS_ON_WHAT_NOBODY_WAITS_FOR)
                ? woken.with(service, own -> own.later(What.RING_NEXT, 0))
                : woken;
    }

    /** The look of the poller, and the mark that it renews. It looks often until releases of other services see the mark. */
    private void poll(State s, int service, Steps<State> out) {
        if (waiters.of(s, service).isEmpty()) {
            return;
        }
        boolean isOften = s.service(service).isMarked() && !s.service(service).isNoticed();
        State seen = s.isFree() && scenario.keeps(Rule.POLL) ? waiters.noting(s, service, Note.WOKEN) : s;
        if (isOften && waiters.isNoticed(s, service)) {
            out.add("looks, and relies on rings", name(service), Cause.PROGRAM, seen.with(service, Service::noticed));
        } else if (s.isFree() && scenario.keeps(Rule.POLL)) {
            out.add("looks, and sees the lock free", name(service), isOften ? Cause.PROGRAM : Cause.TIME, seen);
        }
        if (!s.service(service).isMarked()) {
            out.add("renews its mark", name(service), Cause.TIME, s.with(service, Service::marked));
        }
    }
}
