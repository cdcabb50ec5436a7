package io.github.holdfast.router;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockHandles;
import io.github.holdfast.lock.LockRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Acquires several locks within one deadline, or none of them. A name that moves counts as two locks. Used once, by one thread. */
final class JointAcquisition {

    private final Routes routes;
    private final Collection<LockRequest> requests;
    private final Map<Step, LockHandle> acquired = new LinkedHashMap<>();

    /** A lock to acquire on a shard. */
    private record Step(String shard, LockRequest request) {

        /** The same in all processes, whichever of the rules of a change they use. */
        static final Comparator<Step> ORDER = Comparator.comparing(Step::shard)
                .thenComparing(step -> step.request().name());
    }

    JointAcquisition(Routes routes, Collection<LockRequest> requests) {
        if (requests.isEmpty()) {
            throw new IllegalArgumentException("There is nothing to acquire");
        }
        if (requests.stream().map(LockRequest::name).distinct().count() < requests.size()) {
            throw new IllegalArgumentException("A lock was named twice");
        }
        this.routes = routes;
        this.requests = requests;
    }

    /** Returns a handle for each request, in the order of acquisition. */
    LockHandles acquire() throws InterruptedException {
        long start = System.nanoTime();
        Duration wait = requests.stream()
                .map(request -> request.waitTime().orElse(LockRequest.DEFAULT_WAIT))
                .min(Comparator.naturalOrder())
                .orElseThrow();
        try {
            for (Step step : steps()) {
                LockRequest request = step.request().waitAtMost(left(wait, start));
                acquired.put(step, routes.service(step.shard()).acquire(request));
            }
            return combined();
        } catch (RuntimeException | Error | InterruptedException notAcquired) {
            LockHandles.of(List.copyOf(acquired.values())).release();
            throw notAcquired;
        }
    }

    private List<Step> steps() {
        List<Step> steps = new ArrayList<>();
        for (LockRequest request : requests) {
            steps.add(new Step(routes.shardOf(request.name()), request));
            routes.moving(request.name()).ifPresent(moving -> {
                moving.check(request);
                steps.add(new Step(moving.next().name(), request));
            });
        }
        steps.sort(Step.ORDER);
        return steps;
    }

    private static Duration left(Duration wait, long start) {
        Duration left = wait.minusNanos(System.nanoTime() - start);
        return left.isNegative() ? Duration.ZERO : left;
    }

    private LockHandles combined() {
        Map<LockRequest, LockHandle> combined = new LinkedHashMap<>();
        acquired.forEach((step, handle) -> combined.merge(step.request(), handle, (first, second) -> {
            MovingName moving = routes.moving(step.request().name()).orElseThrow();
            return step.shard().equals(moving.next().name())
                    ? moving.pair(step.request(), first, second)
                    : moving.pair(step.request(), second, first);
        }));
        return LockHandles.of(List.copyOf(combined.values()));
    }
}
