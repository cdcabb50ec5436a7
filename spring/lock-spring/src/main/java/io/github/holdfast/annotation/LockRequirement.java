package io.github.holdfast.annotation;

import io.github.holdfast.lock.LockRequest;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.springframework.expression.EvaluationContext;

/** The locks that a method requires. Immutable. */
record LockRequirement(List<LockedSpec> specs, Contention contention) implements Requirement {

    /**
     * Reads the annotations of one method.
     *
     * @param annotations at least one
     * @throws IllegalArgumentException if one is wrong; the message says why and what to do
     */
    static LockRequirement of(List<Locked> annotations, AnnotationSite site) {
        List<LockedSpec> specs =
                annotations.stream().map(locked -> LockedSpec.of(locked, site)).toList();
        Locked first = annotations.get(0);
        for (Locked other : annotations) {
            if (other.onContention() != first.onContention()
                    || !other.fallback().equals(first.fallback())) {
                throw new IllegalArgumentException("its @Locked annotations must agree on onContention and fallback");
            }
        }
        return new LockRequirement(specs, Contention.of(first.onContention(), first.fallback(), site));
    }

    @Override
    public String what() {
        return "lock";
    }

    @Override
    public boolean canOutlastItsThread() {
        return specs.stream().noneMatch(spec -> spec.rowLock() || spec.hold().isFenceRequired());
    }

    @Override
    public Acquisition of(EvaluationContext call) {
        Map<String, LockRequest> requests = new LinkedHashMap<>();
        for (LockedSpec spec : specs) {
            String name = spec.name().of(call);
            requests.putIfAbsent(name, spec.request(name));
        }
        return new Acquisition(
                requests.keySet(),
                locks -> Requirement.answered(locks.acquireAll(requests.values()))
                        .handles(),
                contention);
    }
}
