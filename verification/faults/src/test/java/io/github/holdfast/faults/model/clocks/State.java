package io.github.holdfast.faults.model.clocks;

import io.github.holdfast.faults.model.clocks.Scenario.Budget;
import io.github.holdfast.faults.model.clocks.Service.Beat;
import io.github.holdfast.faults.model.clocks.Service.LocalNode;
import io.github.holdfast.faults.model.clocks.Service.Sight;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Everything at one moment.
 *
 * @param holder the node through which the lock was granted; {@link #FREE} if none
 * @param nodes the rows of those that have not been ended
 * @param late beats that no service waits for any more
 * @param clockSteps how often the database's clock was set
 */
record State(int holder, List<NodeRow> nodes, List<Service> services, List<Beat> late, int clockSteps, Budget budget) {

    static final int FREE = 0;

    static State initial(Scenario scenario) {
        Service observer =
                scenario.keeps(Rule.READ_THE_CLOCK_BEFORE) ? Service.STARTED.noticing(0, 0) : Service.STARTED;
        return new State(FREE, List.of(), List.of(Service.STARTED, observer), List.of(), 0, scenario.budget());
    }

    Service service(int i) {
        return services.get(i);
    }

    /** The row of a node; empty if the node has ended. */
    Optional<NodeRow> living(int id) {
        return nodes.stream().filter(node -> node.id() == id).findFirst();
    }

    boolean isFree() {
        return holder == FREE || living(holder).isEmpty();
    }

    State with(int i, Service other) {
        List<Service> changed = new ArrayList<>(services);
        changed.set(i, other);
        return new State(holder, nodes, List.copyOf(changed), late, clockSteps, budget);
    }

    State with(Budget other) {
        return new State(holder, nodes, services, late, clockSteps, other);
    }

    State heldBy(int node) {
        return new State(node, nodes, services, late, clockSteps, budget);
    }

    State with(List<NodeRow> others) {
        return new State(holder, List.copyOf(others), services, late, clockSteps, budget);
    }

    State withNode(NodeRow registered) {
        List<NodeRow> more = new ArrayList<>(withoutNode(registered.id()).nodes);
        more.add(registered);
        return with(more);
    }

    /** The node is ended. */
    State withoutNode(int id) {
        return with(nodes.stream().filter(node -> node.id() != id).toList());
    }

    State change(int id, UnaryOperator<NodeRow> change) {
        return with(nodes.stream()
                .map(node -> node.id() == id ? change.apply(node) : node)
                .toList());
    }

    State changeAll(UnaryOperator<NodeRow> change) {
        return with(nodes.stream().map(change).toList());
    }

    State sending(Beat beat) {
        List<Beat> more = new ArrayList<>(late);
        more.add(beat);
        return new State(holder, nodes, services, List.copyOf(more), clockSteps, budget);
    }

    State without(Beat beat) {
        List<Beat> fewer = new ArrayList<>(late);
        fewer.remove(beat);
        return new State(holder, nodes, services, List.copyOf(fewer), clockSteps, budget);
    }

    State withClockStep() {
        return new State(holder, nodes, services, late, clockSteps + 1, budget).changeAll(NodeRow::overdue);
    }

    /** An id that no part of the state names. */
    int newNode() {
        return IntStream.iterate(1, id -> id + 1)
                .filter(id -> id != holder
                        && nodes.stream().noneMatch(node -> node.id() == id)
                        && late.stream().noneMatch(beat -> beat.node() == id)
                        && services.stream().noneMatch(service -> names(service, id)))
                .findFirst()
                .orElseThrow();
    }

    private static boolean names(Service service, int id) {
        LocalNode own = service.node();
        Beat beat = service.beat();
        return (own != null && own.id() == id)
                || (beat != null && beat.node() == id)
                || (service.reading() != null && service.reading().node() == id)
                || sights(service).anyMatch(sight -> sight.node() == id);
    }

    /** The sights that have a counter. */
    private static Stream<Sight> sights(Service service) {
        return Stream.of(Optional.ofNullable(service.sight()), Optional.ofNullable(service.ending()))
                .flatMap(Optional::stream);
    }

    State later(int most) {
        return new State(
                holder,
                nodes.stream().map(NodeRow::later).toList(),
                services.stream().map(service -> service.later(most)).toList(),
                late,
                clockSteps,
                budget);
    }

    /** The same state, with counters from zero on, and without what nodes have left behind that have ended. */
    State normalized() {
        State result = new State(
                living(holder).isEmpty() ? FREE : holder,
                nodes,
                services.stream()
                        .map(service -> service.seeing(id -> living(id).isPresent()))
                        .toList(),
                late.stream().filter(beat -> living(beat.node()).isPresent()).toList(),
                clockSteps,
                budget);
        for (NodeRow node : result.nodes) {
            result = result.clamped(node).counting(node);
        }
        return result;
    }

    /** Counters that the row will not have again are all the same. */
    private State clamped(NodeRow row) {
        int floor = Math.min(row.before(), row.counter() - 1) - 2;
        return new State(
                holder,
                nodes,
                services.stream()
                        .map(service -> service.clamped(row.id(), floor))
                        .toList(),
                late.stream()
                        .filter(beat -> beat.node() != row.id() || beat.counter() > floor)
                        .toList(),
                clockSteps,
                budget);
    }

    private State counting(NodeRow row) {
        int id = row.id();
        int lowest = Stream.of(
                        IntStream.of(row.counter(), row.before()),
                        late.stream().filter(beat -> beat.node() == id).mapToInt(Beat::counter),
                        services.stream()
                                .flatMap(State::sights)
                                .filter(sight -> sight.node() == id)
                                .mapToInt(Sight::counter),
                        services.stream()
                                .map(Service::beat)
                                .filter(Objects::nonNull)
                                .filter(beat -> beat.node() == id)
                                .mapToInt(Beat::counter),
                        services.stream()
                                .map(Service::node)
                                .filter(Objects::nonNull)
                                .filter(own -> own.id() == id)
                                .mapToInt(LocalNode::counter))
                .flatMapToInt(numbers -> numbers)
                .min()
                .orElseThrow();
        return lowest == 0
                ? this
                : new State(
                        holder,
                        nodes.stream()
                                .map(node -> node.id() == id ? node.lessBy(lowest) : node)
                                .toList(),
                        services.stream()
                                .map(service -> service.lessBy(id, lowest))
                                .toList(),
                        late.stream().map(beat -> beat.lessBy(id, lowest)).toList(),
                        clockSteps,
                        budget);
    }
}
