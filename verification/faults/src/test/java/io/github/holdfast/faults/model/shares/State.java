package io.github.holdfast.faults.model.shares;

import io.github.holdfast.faults.model.shares.Attempt.Phase;
import io.github.holdfast.faults.model.shares.Database.Pending;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Everything at one moment. */
record State(Database db, List<Service> services, List<Late> network, Ledger ledger, Budget budget) {

    static State initial(Scenario scenario) {
        return new State(
                Database.created(scenario),
                Collections.nCopies(scenario.seats().size(), Service.STARTED),
                List.of(),
                Ledger.EMPTY,
                scenario.budget());
    }

    Service service(int index) {
        return services.get(index);
    }

    Stream<Service> believers() {
        return services.stream().filter(Service::believes);
    }

    State with(Database other) {
        return new State(other, services, network, ledger, budget);
    }

    State with(LockRow row) {
        return with(db.with(row));
    }

    State with(int index, Service other) {
        List<Service> changed = new ArrayList<>(services);
        changed.set(index, other);
        return new State(db, List.copyOf(changed), network, ledger, budget);
    }

    State with(int index, Attempt attempt) {
        return with(index, service(index).with(attempt));
    }

    State with(Ledger other) {
        return new State(db, services, network, other, budget);
    }

    State with(Budget other) {
        return new State(db, services, network, ledger, other);
    }

    State sending(Late late) {
        List<Late> more = new ArrayList<>(network);
        more.add(late);
        return new State(db, services, List.copyOf(more), ledger, budget);
    }

    State without(Late late) {
        List<Late> fewer = new ArrayList<>(network);
        fewer.remove(late);
        return new State(db, services, List.copyOf(fewer), ledger, budget);
    }

    /** Whether writes of the lock's row have to wait. */
    boolean isRowLocked() {
        return db.pending() != null
                || services.stream()
                        .map(Service::hold)
                        .anyMatch(hold ->
                                hold != null && hold.isGuarded() && db.row().shows(hold));
    }

    /** Whether writes of a holder's row have to wait. */
    boolean isLocked(HolderRow holder) {
        return holder.isPending()
                || services.stream()
                        .map(Service::hold)
                        .anyMatch(hold -> hold != null && hold.isGuarded() && holder.isOf(hold));
    }

    /** Whether writes and guards of the row that shows this hold have to wait. Guards of one holder do not meet. */
    boolean isLockedFor(Hold hold) {
        return hold.isShared() ? db.holder(hold.token()).filter(this::isLocked).isPresent() : isRowLocked();
    }

    /** One that nobody has heard of. Ids are never reused; here one that has been forgotten everywhere counts as new. */
    int newNode() {
        Set<Integer> known = new HashSet<>();
        db.copies().forEach(copy -> {
            copy.nodes().forEach(node -> known.add(node.id()));
            copy.holders().forEach(holder -> known.add(holder.node()));
        });
        if (db.pending() != null) {
            known.add(db.pending().holder().node());
        }
        for (Service service : services) {
            known.add(service.nodeId());
            if (service.attempt() != null && service.attempt().phase() == Phase.ENDING) {
                known.add(service.attempt().target());
            }
        }
        for (Late late : network) {
            if (late instanceof Late.SharedGrant grant) {
                known.add(grant.node());
            }
        }
        return IntStream.iterate(1, id -> id + 1)
                .filter(id -> !known.contains(id))
                .findFirst()
                .orElseThrow();
    }

    /** What this service has executed and not committed may still be committed. */
    State abandoningGrant(int service) {
        Pending pending = db.pending();
        return pending != null && pending.service() == service ? with(db.with(pending.abandoned())) : this;
    }

    State later() {
        return new State(db.later(), services.stream().map(Service::later).toList(), network, ledger, budget);
    }

    /** The same state, without late statements that cannot match any more. */
    State normalized(Scenario scenario) {
        if (network.isEmpty()) {
            return this;
        }
        List<Late> live =
                network.stream().filter(late -> mayMatch(late, scenario)).toList();
        return live.size() == network.size() ? this : new State(db, services, live, ledger, budget);
    }

    private boolean mayMatch(Late late, Scenario scenario) {
        if (late instanceof Late.SharedGrant grant) {
            return !scenario.keeps(Rule.THE_WINDOW_ENDS)
                    || db.row().version() < grant.seen().version() + Scenario.WINDOW;
        }
        if (late instanceof Late.ExclusiveGrant grant) {
            return !scenario.keeps(Rule.COMPARE_THE_ROW)
                    || db.row().version() <= grant.seen().version();
        }
        if (late instanceof Late.Downgrade downgrade) {
            return !scenario.keeps(Rule.DOWNGRADE_COMPARES_THE_GRANT)
                    || db.row().version() <= downgrade.seen().version();
        }
        return late instanceof Late.Renewal renewal
                && db.holder(renewal.token()).isPresent();
    }
}
