package io.github.holdfast.faults.model.waiting;

import io.github.holdfast.faults.model.waiting.Caller.Note;
import io.github.holdfast.faults.model.waiting.Caller.Phase;
import io.github.holdfast.faults.model.waiting.Scenario.Budget;
import io.github.holdfast.faults.model.waiting.Scenario.Seat;
import io.github.holdfast.faults.model.waiting.Service.Task;
import io.github.holdfast.faults.model.waiting.Service.What;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.IntUnaryOperator;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;

/**
 * Everything at one moment.
 *
 * @param holder the thread that the row names, or {@link #NOBODY}
 * @param tickets those that the database shows, in the order of arrival
 * @param lateInserts statements without an answer, which the database executes later or never
 * @param lateDeletes deletes that failed, and are repeated later
 * @param isExcused whether a fault, or the end of a dead holder's lease, has cost somebody a ring since the last grant
 * @param isOutOfOrder whether a fair request was granted before an earlier one
 */
record State(
        int holder,
        List<Caller> callers,
        List<Service> services,
        List<Ticket> tickets,
        List<Ticket> lateInserts,
        List<Ticket> lateDeletes,
        Budget budget,
        boolean isExcused,
        boolean isOutOfOrder) {

    static final int NOBODY = -1;

    /** A row of lock_waiter. */
    record Ticket(int rank, int service, boolean isFair) {}

    static State initial(Scenario scenario) {
        return new State(
                NOBODY,
                Collections.nCopies(scenario.threads().size(), Caller.IDLE),
                IntStream.range(0, scenario.services())
                        .mapToObj(service -> started(scenario, service))
                        .toList(),
                List.of(),
                IntStream.range(0, scenario.strays().size())
                        .mapToObj(rank -> stray(scenario.strays().get(rank), rank))
                        .toList(),
                List.of(),
                scenario.budget(),
                false,
                false);
    }

    private static Service started(Scenario scenario, int service) {
        return scenario.strays().stream().anyMatch(stray -> stray.service() == service)
                ? Service.STARTED.marked()
                : Service.STARTED;
    }

    private static Ticket stray(Seat left, int rank) {
        return new Ticket(rank, left.service(), left.isFair());
    }

    Caller caller(int thread) {
        return callers.get(thread);
    }

    Service service(int index) {
        return services.get(index);
    }

    State with(int thread, Caller changed) {
        List<Caller> all = new ArrayList<>(callers);
        all.set(thread, changed);
        return withCallers(all);
    }

    State withCallers(List<Caller> all) {
        return new State(
                holder, List.copyOf(all), services, tickets, lateInserts, lateDeletes, budget, isExcused, isOutOfOrder);
    }

    State with(int index, UnaryOperator<Service> change) {
        List<Service> all = new ArrayList<>(services);
        all.set(index, change.apply(services.get(index)));
        return new State(
                holder, callers, List.copyOf(all), tickets, lateInserts, lateDeletes, budget, isExcused, isOutOfOrder);
    }

    State withTickets(List<Ticket> shown) {
        return new State(
                holder,
                callers,
                services,
                shown.stream()
                        .distinct()
                        .sorted(Comparator.comparing(Ticket::rank))
                        .toList(),
                lateInserts,
                lateDeletes,
                budget,
                isExcused,
                isOutOfOrder);
    }

    State with(Ticket added) {
        List<Ticket> more = new ArrayList<>(tickets);
        more.add(added);
        return withTickets(more);
    }

    /** Also takes the thread's place out of what others are behind. */
    State withoutTicket(int rank) {
        return withTickets(
                tickets.stream().filter(ticket -> ticket.rank() != rank).toList());
    }

    State withLate(List<Ticket> inserts, List<Ticket> deletes) {
        return new State(
                holder,
                callers,
                services,
                tickets,
                inserts.stream()
                        .distinct()
                        .sorted(Comparator.comparing(Ticket::rank))
                        .toList(),
                deletes.stream()
                        .distinct()
                        .sorted(Comparator.comparing(Ticket::rank))
                        .toList(),
                budget,
                isExcused,
                isOutOfOrder);
    }

    State with(Budget left) {
        return new State(holder, callers, services, tickets, lateInserts, lateDeletes, left, isExcused, isOutOfOrder);
    }

    State excused() {
        return new State(holder, callers, services, tickets, lateInserts, lateDeletes, budget, true, isOutOfOrder);
    }

    /** Somebody has written the row: what others have read is old. */
    State heldBy(int thread) {
        List<Caller> all = callers.stream()
                .map(caller ->
                        caller.is(Phase.FREE_SEEN) || caller.is(Phase.DECIDED) ? caller.with(Note.OVERTAKEN) : caller)
                .toList();
        boolean excuse = thread == NOBODY && isExcused;
        return new State(thread, all, services, tickets, lateInserts, lateDeletes, budget, excuse, isOutOfOrder);
    }

    State outOfOrder() {
        return new State(holder, callers, services, tickets, lateInserts, lateDeletes, budget, isExcused, true);
    }

    /** Nobody is behind these threads any more. */
    State notBehind(int threads) {
        return withCallers(callers.stream()
                .map(caller -> caller.behind(caller.ahead() & ~threads))
                .toList());
    }

    boolean isFree() {
        return holder == NOBODY;
    }

    boolean counts(Ticket ticket) {
        return service(ticket.service()).isMarked();
    }

    /** The first place in the queue of the fair requests. */
    Optional<Ticket> firstInQueue() {
        return tickets.stream()
                .filter(ticket -> ticket.isFair() && counts(ticket))
                .findFirst();
    }

    /** Whether nobody waits at the first place in the queue: its service is dead, or its thread has left. */
    boolean isGhostFirst() {
        return firstInQueue()
                .filter(first ->
                        callers.stream().noneMatch(caller -> caller.isWaiting() && caller.rank() == first.rank()))
                .isPresent();
    }

    /** Whether a ticket stays that its service has forgotten, and nothing else is going on but that somebody holds the lock. */
    boolean isOnlyStrayLeft() {
        return callers.stream()
                        .allMatch(caller -> caller.is(Phase.IDLE) || caller.is(Phase.GONE) || caller.is(Phase.HOLDING))
                && services.stream()
                        .allMatch(service ->
                                !service.isRung() && service.background().isEmpty())
                && isStrayLeft();
    }

    private boolean isStrayLeft() {
        return tickets.stream()
                .anyMatch(ticket -> service(ticket.service()).isAlive()
                        && callers.stream().noneMatch(caller -> caller.rank() == ticket.rank())
                        && lateDeletes.stream().noneMatch(late -> late.rank() == ticket.rank())
                        && service(ticket.service()).background().stream()
                                .noneMatch(task -> isOfTicket(task) && task.about() == ticket.rank()));
    }

    int newRank() {
        return ranks().isEmpty() ? 0 : ranks().last() + 1;
    }

    private SortedSet<Integer> ranks() {
        SortedSet<Integer> ranks = new TreeSet<>();
        callers.stream().filter(caller -> caller.rank() != Caller.NO_RANK).forEach(caller -> ranks.add(caller.rank()));
        tickets.forEach(ticket -> ranks.add(ticket.rank()));
        lateInserts.forEach(ticket -> ranks.add(ticket.rank()));
        lateDeletes.forEach(ticket -> ranks.add(ticket.rank()));
        services.forEach(service ->
                service.background().stream().filter(State::isOfTicket).forEach(task -> ranks.add(task.about())));
        return ranks;
    }

    /** The same state with the ranks counted from zero, without gaps. */
    State normalized() {
        List<Integer> ranks = List.copyOf(ranks());
        if (ranks.isEmpty() || ranks.get(ranks.size() - 1) == ranks.size() - 1) {
            return this;
        }
        IntUnaryOperator renumbered = rank -> rank == Caller.NO_RANK ? rank : ranks.indexOf(rank);
        return new State(
                holder,
                callers.stream()
                        .map(caller -> caller.at(renumbered.applyAsInt(caller.rank())))
                        .toList(),
                services.stream()
                        .map(service -> service.with(service.background().stream()
                                .map(task -> renumbered(task, renumbered))
                                .toList()))
                        .toList(),
                renumbered(tickets, renumbered),
                renumbered(lateInserts, renumbered),
                renumbered(lateDeletes, renumbered),
                budget,
                isExcused,
                isOutOfOrder);
    }

    private static boolean isOfTicket(Task task) {
        return task.what() == What.REMOVE_TICKET || task.what() == What.REMOVE_STRAY;
    }

    private static Task renumbered(Task task, IntUnaryOperator renumbered) {
        return isOfTicket(task) ? new Task(task.what(), renumbered.applyAsInt(task.about())) : task;
    }

    private static List<Ticket> renumbered(List<Ticket> tickets, IntUnaryOperator renumbered) {
        return tickets.stream()
                .map(ticket -> new Ticket(renumbered.applyAsInt(ticket.rank()), ticket.service(), ticket.isFair()))
                .toList();
    }

    /** The numbers of the threads. */
    IntStream threads() {
        return IntStream.range(0, callers.size());
    }
}
