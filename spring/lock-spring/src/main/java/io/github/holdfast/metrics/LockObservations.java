package io.github.holdfast.metrics;

import io.github.holdfast.lock.LockListener;
import io.github.holdfast.lock.LockRequest;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Observes the acquisitions of one lock service, on the acquiring thread. Each observation has the name {@value #NAME}. In a
 * trace, each acquisition is a span that contains its statements. See {@code docs/operate/observability.md}. Thread-safe.
 *
 * <pre>{@code
 * LockService locks = LockService.builder(entityManagerFactory)
 *         .listener(LockObservations.of(registry, LockGroup.byPrefix()))
 *         .build();
 * }</pre>
 */
public final class LockObservations implements LockListener {

    /** The name of the observation. It differs from the name of the timer in {@link LockMeters}, because that has other tags. */
    public static final String NAME = "holdfast.lock.acquisition";

    private static final String OUTCOME = "outcome";

    private final ObservationRegistry registry;
    private final LockGroup groups;

    /** The open acquisitions of the current thread, the innermost one first. */
    private final ThreadLocal<Deque<Acquisition>> open = ThreadLocal.withInitial(ArrayDeque::new);

    private record Acquisition(LockRequest request, Observation observation, Observation.Scope scope) {}

    private LockObservations(ObservationRegistry registry, LockGroup groups) {
        this.registry = registry;
        this.groups = groups;
    }

    /**
     * Returns a listener for one lock service.
     *
     * @param groups maps locks to the groups of their observations; the lock's name itself is a value of high cardinality
     */
    public static LockObservations of(ObservationRegistry registry, LockGroup groups) {
        return new LockObservations(registry, groups);
    }

    @Override
    public void acquiring(LockRequest request) {
        String group = groups.of(request.name());
        Observation observation = Observation.createNotStarted(NAME, registry)
                .contextualName("acquire " + group)
                .lowCardinalityKeyValue("group", group)
                .lowCardinalityKeyValue("kind", kind(request))
                .lowCardinalityKeyValue(OUTCOME, "none")
                .highCardinalityKeyValue("lock", request.name())
                .start();
        open.get().push(new Acquisition(request, observation, observation.openScope()));
    }

    private static String kind(LockRequest request) {
        if (request.isRowLock()) {
            return "row";
        }
        return request.lease().isPresent() ? "lease" : "node";
    }

    @Override
    public void acquired(String lockName, long fencingToken, Duration waited) {
        outcome("acquired");
    }

    @Override
    public void refused(String lockName, Duration waited) {
        outcome("refused");
    }

    @Override
    public void failed(String lockName, Duration waited, Exception cause) {
        outcome(cause instanceof InterruptedException ? "interrupted" : "failed");
        Acquisition current = open.get().peek();
        if (current != null) {
            current.observation().error(cause);
        }
    }

    private void outcome(String outcome) {
        Acquisition current = open.get().peek();
        if (current != null) {
            current.observation().lowCardinalityKeyValue(OUTCOME, outcome);
        }
    }

    @Override
    public void acquisitionEnded(LockRequest request) {
        Deque<Acquisition> acquisitions = open.get();
        Acquisition current = acquisitions.peek();
        // The observation is missing if its start has thrown an exception.
        if (current != null && current.request() == request) {
            acquisitions.pop();
            current.scope().close();
            current.observation().stop();
        }
        if (acquisitions.isEmpty()) {
            open.remove();
        }
    }
}
