package io.github.holdfast.faults.model.waiting;

import io.github.holdfast.faults.model.waiting.Caller.Note;
import io.github.holdfast.faults.model.waiting.Scenario.Seat;
import io.github.holdfast.faults.model.waiting.Service.Releases;
import io.github.holdfast.faults.model.waiting.State.Ticket;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/** Who waits, who is next, and how they are woken. */
record Waiters(Scenario scenario) {

    String name(int t) {
        Seat seat = scenario.threads().get(t);
        return (seat.isFair() ? "fair thread " : "thread ") + t + " of service " + seat.service();
    }

    /** The threads of a service that are registered as waiters. */
    List<Integer> of(State s, int service) {
        return s.threads()
                .filter(t -> scenario.threads().get(t).service() == service
                        && s.caller(t).isWaiting())
                .boxed()
                .toList();
    }

    /** Those that may acquire the lock when it is free: all that are not fair, and the first of those that are. */
    List<Integer> next(State s, int service) {
        List<Integer> next = new ArrayList<>();
        Integer first = null;
        for (int t : of(s, service)) {
            if (!scenario.threads().get(t).isFair()) {
                next.add(t);
            } else if (first == null || s.caller(t).rank() < s.caller(first).rank()) {
                first = t;
            }
        }
        if (first != null) {
            next.add(first);
        }
        return next;
    }

    State noting(State s, int service, Note note) {
        State noted = s;
        for (int t : next(s, service)) {
            noted = noted.with(t, noted.caller(t).with(note));
        }
        return noted;
    }

    /** The waiting threads whose places the database shows before this one, as bits. */
    int before(State s, int rank) {
        return s.threads()
                .filter(t -> s.caller(t).isWaiting() && s.caller(t).rank() < rank)
                .filter(t -> s.tickets().stream()
                        .anyMatch(ticket -> ticket.isFair()
                                && s.counts(ticket)
                                && ticket.rank() == s.caller(t).rank()))
                .map(t -> 1 << t)
                .sum();
    }

    /** All threads of a service, as bits. */
    int threads(int service) {
        return IntStream.range(0, scenario.threads().size())
                .filter(t -> scenario.threads().get(t).service() == service)
                .map(t -> 1 << t)
                .sum();
    }

    /** The service that a ring of this one is for. */
    Optional<Integer> toRing(State s, int ringing) {
        return s.tickets().stream()
                .filter(s::counts)
                .map(Ticket::service)
                .filter(service -> service != ringing || !scenario.keeps(Rule.RING_OTHERS))
                .findFirst();
    }

    boolean isNoOtherMarked(State s, int service) {
        return IntStream.range(0, s.services().size())
                .allMatch(other -> other == service || !s.service(other).isMarked());
    }

    /** Whether the releases of all other services see that this one is marked, as far as it can know. */
    boolean isNoticed(State s, int service) {
        return !scenario.keeps(Rule.POLL_UNTIL_NOTICED)
                || IntStream.range(0, s.services().size())
                        .filter(other -> other != service)
                        .mapToObj(other -> s.service(other).releases())
                        .allMatch(releases -> releases == Releases.ASK
                                || (releases == Releases.ABOUT_NOT_TO_ASK
                                        && !scenario.keeps(Rule.COUNT_FROM_THE_QUERY)));
    }

    /** A ring for a service that has crashed is lost. */
    static State rung(State s, int service) {
        return s.service(service).isAlive() ? s.with(service, Service::rung) : s.excused();
    }
}
