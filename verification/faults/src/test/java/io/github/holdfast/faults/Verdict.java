package io.github.holdfast.faults;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** What was found in a history: violations, and what docs/understand/guarantees.md exempts, by the fault that exempts it. */
final class Verdict {

    /** One promise that was broken, and by what. */
    record Violation(Promise promise, List<Operation> by) {
        @Override
        public String toString() {
            StringBuilder text = new StringBuilder(promise.name());
            by.forEach(operation -> text.append("\n    ").append(operation));
            return text.toString();
        }
    }

    private final List<Violation> violations = new ArrayList<>();
    private final Map<Action, Integer> exempted = new EnumMap<>(Action.class);

    void violated(Promise promise, Operation... by) {
        violations.add(new Violation(promise, List.of(by)));
    }

    void exempted(Action by) {
        exempted.merge(by, 1, Integer::sum);
    }

    List<Violation> violations() {
        return violations;
    }

    Map<Action, Integer> exempted() {
        return exempted;
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(violations.size() + " violations, exempted " + exempted);
        violations.forEach(violation -> text.append("\n  ").append(violation));
        return text.toString();
    }
}
