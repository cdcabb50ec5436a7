package io.github.holdfast.annotation;

import io.github.holdfast.semaphore.SemaphoreRequest;
import java.util.List;
import org.springframework.expression.EvaluationContext;

/** The permits that a method requires. Immutable. */
record PermitRequirement(LockName name, HoldSpec hold, int limit, int permits, Contention contention)
        implements Requirement {

    private static final HoldSpec.Setters<SemaphoreRequest> SETTERS = new HoldSpec.Setters<>(
            SemaphoreRequest::waitAtMost,
            SemaphoreRequest::lease,
            SemaphoreRequest::requireFence,
            SemaphoreRequest::withoutFence);

    /**
     * Reads the annotation of one method.
     *
     * @param annotations at least one; more than one is a mistake
     * @throws IllegalArgumentException if it is wrong; the message says why and what to do
     */
    static PermitRequirement of(List<Limited> annotations, AnnotationSite site) {
        if (annotations.size() > 1) {
            throw new IllegalArgumentException(
                    "it has several of them, some by annotations of the application's own: leave one");
        }
        Limited limited = annotations.get(0);
        PermitRequirement read = new PermitRequirement(
                site.name(limited.name(), DefaultName::ofSemaphore),
                HoldSpec.of(limited.waitAtMost(), limited.lease(), limited.fence(), site),
                limit(site.resolved(limited.limit()).strip()),
                limited.permits(),
                Contention.of(limited.onContention(), limited.fallback(), site));
        SemaphoreRequest unused = read.request(read.name.sample());
        if (read.permits > read.limit) {
            throw new IllegalArgumentException("it needs " + read.permits + " permits, but the limit is " + read.limit
                    + ", so it could never run: raise the limit, or ask for fewer permits");
        }
        return read;
    }

    private static int limit(String text) {
        try {
            return Integer.parseInt(text);
        } catch (NumberFormatException wrong) {
            throw new IllegalArgumentException(
                    "limit '" + text + "' is not a number: write '3', or a property with a number", wrong);
        }
    }

    private SemaphoreRequest request(String semaphoreName) {
        return hold.applyTo(SemaphoreRequest.of(semaphoreName).limit(limit).permits(permits), SETTERS);
    }

    @Override
    public String what() {
        return "semaphore";
    }

    @Override
    public boolean canOutlastItsThread() {
        return !hold.isFenceRequired();
    }

    @Override
    public Acquisition of(EvaluationContext call) {
        String evaluated = name.of(call);
        SemaphoreRequest request = request(evaluated);
        return new Acquisition(
                List.of(evaluated),
                locks -> List.of(Requirement.answered(
                        Requirement.answered(locks.semaphore(request)).acquire())),
                contention);
    }
}
