package io.github.holdfast.faults;

import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** The faults that a promise does not cover, of one name, by time; they are few. */
final class Exemptions {

    /** Under these at most one holder is not promised; tokens and guarded commits are. */
    static final Set<Action> OF_ONE_HOLDER =
            EnumSet.of(Action.DELETE_ROWS, Action.FORCE_RELEASE, Action.SET_CLOCK_FORWARD);

    /** Rows changed by hand start a new epoch. */
    static final Set<Action> OF_TOKENS = EnumSet.of(Action.DELETE_ROWS);

    private final List<Operation> faults;

    /** Of each row of one who shares the lock, when the first of those who had it was begun. */
    private final Map<RowOfShare, Long> sharedSince = new HashMap<>();

    private record RowOfShare(int worker, String owner) {}

    Exemptions(List<Operation> ofName, List<Operation> ofAll) {
        faults = Stream.concat(ofName.stream(), ofAll.stream())
                .filter(operation -> OF_ONE_HOLDER.contains(operation.action()))
                .sorted(Comparator.comparingLong(operation -> operation.begin().nanos()))
                .toList();
        ofName.forEach(operation -> rowOfShare(operation)
                .ifPresent(row -> sharedSince.merge(row, operation.begin().nanos(), Math::min)));
    }

    private static Optional<RowOfShare> rowOfShare(Operation operation) {
        return operation.action() == Action.SHARE
                ? Optional.ofNullable(operation.facts().owner())
                        .map(owner -> new RowOfShare(operation.begin().worker(), owner))
                : Optional.empty();
    }

    /** The fault that may have happened after the first operation was begun and before the second one was over. */
    Optional<Action> between(Operation first, Operation second, Set<Action> kinds) {
        long to = Math.max(first.endNanos(), second.endNanos());
        return faults.stream()
                .filter(fault -> kinds.contains(fault.action()))
                .filter(fault -> fault.endNanos()
                                >= Math.min(since(fault, first), since(fault, second)) - reach(fault, first, second)
                        && fault.begin().nanos() <= to)
                .map(Operation::action)
                .findFirst();
    }

    /** A thread that joins the share of another one has its row, and so what a deletion before has made of that. */
    private long since(Operation fault, Operation operation) {
        long begun = operation.begin().nanos();
        return fault.action() == Action.DELETE_ROWS
                ? rowOfShare(operation).map(sharedSince::get).orElse(begun)
                : begun;
    }

    /** A grant through a node lasts from the heartbeat before it, whose lease the new clock may have ended. */
    private static long reach(Operation fault, Operation first, Operation second) {
        boolean isThroughANode = first.facts().node() != null || second.facts().node() != null;
        return fault.action() == Action.SET_CLOCK_FORWARD && isThroughANode ? Fleet.NODE_LEASE.toNanos() : 0;
    }
}
