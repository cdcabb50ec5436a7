package io.github.holdfast.faults.model;

import io.github.holdfast.faults.model.Message.BeatStatement;
import io.github.holdfast.faults.model.Message.GiveBack;
import io.github.holdfast.faults.model.Service.LocalNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Everything at one moment. */
record State(Database db, List<Service> services, List<Message> network, Ledger ledger, Budget budget) {

    /** Nobody has anything, and the lock has a row that was never granted. */
    static State initial(Scenario scenario) {
        return new State(
                new Database(LockRow.created(0, 0), List.of(), 0, null),
                Collections.nCopies(scenario.kinds().size(), Service.STARTED),
                List.of(),
                Ledger.EMPTY,
                scenario.budget());
    }

    Service service(int index) {
        return services.get(index);
    }

    State with(Database other) {
        return new State(other, services, network, ledger, budget);
    }

    State with(@Nullable LockRow row) {
        return with(db.with(row));
    }

    State with(int index, Service other) {
        List<Service> changed = new ArrayList<>(services);
        changed.set(index, other);
        return new State(db, List.copyOf(changed), network, ledger, budget);
    }

    State with(Ledger other) {
        return new State(db, services, network, other, budget);
    }

    State with(Budget other) {
        return new State(db, services, network, ledger, other);
    }

    /** The service is told that its acquisition has ended with this hold, which may be over or lost already. */
    State told(int index, Hold hold) {
        State told = with(index, service(index).withoutAttempt().with(hold));
        return hold.spare() == 0 ? told : told.with(ledger.given(hold.given()));
    }

    State sending(@Nullable Message message) {
        if (message == null) {
            return this;
        }
        List<Message> more = new ArrayList<>(network);
        more.add(message);
        return new State(db, services, List.copyOf(more), ledger, budget);
    }

    /** Whether a write that waits for the standby may be cancelled: the primary alone has it then. */
    boolean isCancellable() {
        return db.isStandbyAway() && budget.cancellations() > 0;
    }

    State cancelled() {
        return with(budget.lessCancellation());
    }

    State without(Message message) {
        List<Message> fewer = new ArrayList<>(network);
        fewer.remove(message);
        return new State(db, services, List.copyOf(fewer), ledger, budget);
    }

    /** A commit of this service: what others have read before is old now. */
    State committed(int index, int token, boolean isOvertaken) {
        List<Service> after = IntStream.range(0, services.size())
                .mapToObj(i -> i == index ? services.get(i) : services.get(i).overtaken())
                .toList();
        List<Message> overtaken = network.stream()
                .map(message -> message instanceof Message.Commit commit
                        ? new Message.Commit(commit.token(), commit.given(), true)
                        : message)
                .toList();
        return new State(db, after, overtaken, ledger.committed(token, isOvertaken), budget);
    }

    /** Whether a transaction has the lock's row locked, shared or not, so that writes of it wait. */
    boolean isRowLocked() {
        for (Service service : services) {
            if (service.hasGuardPassed() || service.hasRowLocked()) {
                return true;
            }
        }
        return network.stream().anyMatch(Message.Commit.class::isInstance);
    }

    /** Whether an unanswered commit under this very hold may still happen. */
    boolean mayCommit(Hold hold) {
        return network.stream()
                .anyMatch(message -> message instanceof Message.Commit commit
                        && commit.token() == hold.token()
                        && commit.given() == hold.given());
    }

    /** Whether it is locked for one, so that also a guard waits. */
    boolean isRowLockedExclusively() {
        return services.stream().anyMatch(Service::hasRowLocked);
    }

    /** One that nobody has heard of. Ids are never reused; here one that has been forgotten everywhere counts as new. */
    int newOwner() {
        Set<Integer> known = new HashSet<>();
        for (Service service : services) {
            if (service.attempt() != null) {
                known.add(service.attempt().owner());
                addOwner(known, service.attempt().seen());
                addOwner(known, service.attempt().grant());
            }
            if (service.hold() != null) {
                known.add(service.hold().owner());
            }
            if (service.settlement() != null) {
                known.add(service.settlement().owner());
            }
        }
        db.copies().forEach(copy -> addOwner(known, Seen.of(copy)));
        network.forEach(message -> addOwner(known, message instanceof Grant grant ? grant : null));
        network.forEach(message -> known.add(message instanceof GiveBack giveBack ? giveBack.owner() : LockRow.NOBODY));
        return firstNot(known::contains);
    }

    private static void addOwner(Set<Integer> known, @Nullable Seen seen) {
        if (seen != null && seen.row() != null) {
            known.add(seen.row().owner());
        }
    }

    private static void addOwner(Set<Integer> known, @Nullable Grant grant) {
        if (grant != null) {
            known.add(grant.owner());
            known.add(grant.expectedOwner());
        }
    }

    /** As {@link #newOwner}. */
    int newNode() {
        Set<Integer> known = new HashSet<>();
        db.copies().forEach(copy -> {
            copy.nodes().forEach(node -> known.add(node.id()));
            if (copy.row() != null) {
                known.add(copy.row().node());
            }
        });
        for (Service service : services) {
            if (service.node() != null) {
                known.add(service.node().id());
            }
            if (service.hold() != null) {
                known.add(service.hold().node());
            }
            if (service.attempt() != null) {
                known.add(service.attempt().node());
                if (service.attempt().seen() != null && service.attempt().seen().row() != null) {
                    known.add(service.attempt().seen().row().node());
                }
            }
        }
        for (Message message : network) {
            known.add(message instanceof Grant grant ? grant.node() : LockRow.NO_NODE);
            known.add(message instanceof BeatStatement beat ? beat.node() : LockRow.NO_NODE);
        }
        return firstNot(known::contains);
    }

    private static int firstNot(IntPredicate isKnown) {
        return IntStream.iterate(1, id -> id + 1)
                .filter(isKnown.negate())
                .findFirst()
                .orElseThrow();
    }

    State later() {
        return new State(
                db.later(),
                services.stream().map(Service::later).toList(),
                network.stream().map(Message::later).toList(),
                ledger,
                budget);
    }

    /** The same state, without grants that cannot match any more, given that versions never restart. */
    State withoutStaleGrants() {
        LockRow row = db.row();
        if (row == null) {
            return this;
        }
        List<Message> live = network.stream()
                .filter(message -> !(message instanceof Grant grant && grant.version() < row.version()))
                .toList();
        return live.size() == network.size() ? this : new State(db, services, live, ledger, budget);
    }

    /**
     * The same state, with the versions of nodes counted from the lowest that anybody knows, and without beats that cannot match
     * any more: else it would never be the same again after a beat.
     */
    State normalized() {
        State result = network.isEmpty() ? this : withoutBeatsOfEndedNodes();
        for (NodeRow node : db.nodes()) {
            result = node.isDeleted() ? result : result.normalized(node);
        }
        return result;
    }

    private State withoutBeatsOfEndedNodes() {
        List<Message> live = network.stream()
                .filter(message -> !(message instanceof BeatStatement beat
                        && db.node(beat.node()).isEmpty()))
                .toList();
        return live.size() == network.size() ? this : new State(db, services, live, ledger, budget);
    }

    private State normalized(NodeRow node) {
        List<Message> live = network.isEmpty()
                ? network
                : network.stream()
                        .filter(message -> !(message instanceof BeatStatement beat
                                && beat.node() == node.id()
                                && beat.version() < node.version()))
                        .toList();
        int lowest = db.copies()
                .flatMap(copy -> copy.node(node.id()).stream())
                .mapToInt(NodeRow::version)
                .min()
                .orElseThrow();
        for (Service service : services) {
            LocalNode local = service.node();
            if (local != null && local.id() == node.id()) {
                lowest = Math.min(lowest, local.version());
            }
        }
        if (lowest == 0) {
            return live.size() == network.size() ? this : new State(db, services, live, ledger, budget);
        }
        int by = lowest;
        return new State(
                db.withVersionsLessBy(by, node.id()),
                services.stream()
                        .map(service -> shifted(service, node.id(), by))
                        .toList(),
                live.stream()
                        .map(message -> message instanceof BeatStatement beat && beat.node() == node.id()
                                ? new BeatStatement(beat.node(), beat.version() - by)
                                : message)
                        .toList(),
                ledger,
                budget);
    }

    private static Service shifted(Service service, int node, int by) {
        LocalNode local = service.node();
        return local == null || local.id() != node
                ? service
                : service.with(new LocalNode(local.id(), local.left(), local.version() - by));
    }
}
