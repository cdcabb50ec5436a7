package io.github.holdfast.faults;

import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Judges a history, in O(n log n). */
final class HistoryChecker {

    private final Duration freeWithin;

    /**
     * A checker.
     *
     * @param freeWithin how long after the faults a lock may still be held by what they have left: the lease, the lock delay, and
     *     what a busy machine adds
     */
    HistoryChecker(Duration freeWithin) {
        this.freeWithin = freeWithin;
    }

    /**
     * Judges.
     *
     * @throws IllegalArgumentException if it is not a history of a whole run: an operation has no beginning, or the faults have no
     *     end
     */
    Verdict judge(History history) {
        Verdict verdict = new Verdict();
        List<Operation> operations = history.operations();
        long calm = operations.stream()
                .filter(operation -> operation.is(Action.CALM, Phase.OK))
                .mapToLong(Operation::endNanos)
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("The faults have no end"));
        Map<Integer, NavigableMap<Long, Operation>> ends = ends(operations);
        Map<String, List<Operation>> byName = byName(operations);
        List<Operation> ofAll = byName.getOrDefault(Facts.ALL, List.of());
        byName.forEach((name, ofName) -> {
            Exemptions exemptions = new Exemptions(ofName, ofAll);
            new GrantOrder(exemptions, verdict).judge(ofName);
            new Beliefs(exemptions, ends, verdict).judge(ofName);
            new Commits(verdict).judge(ofName);
            new Reads(exemptions, verdict).judge(ofName);
            new HoldCounts(verdict).judge(ofName);
            new Aftermath(calm, freeWithin, verdict).judge(ofName);
        });
        return verdict;
    }

    private static Map<String, List<Operation>> byName(List<Operation> operations) {
        return operations.stream()
                .collect(Collectors.groupingBy(Operation::name, LinkedHashMap::new, Collectors.toList()));
    }

    private static Map<Integer, NavigableMap<Long, Operation>> ends(List<Operation> operations) {
        Map<Integer, NavigableMap<Long, Operation>> ends = new HashMap<>();
        for (Operation operation : operations) {
            if (operation.action() == Action.KILL || operation.action() == Action.CLOSE) {
                ends.computeIfAbsent(operation.begin().worker(), worker -> new TreeMap<>())
                        .put(operation.endNanos(), operation);
            }
        }
        return ends;
    }
}
