package io.github.holdfast.sharding;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockHandles;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Acquires several locks within one deadline, or none of them. A name that moves counts as two locks. Used once, by one thread. */
final class JointAcquisition {

    private final Routes routes;
    private final Collection<LockRequest> requests;
    private final Duration wait;
    private final long start = System.nanoTime();

    /** A lock to acquire on a shard. */
    private record Step(String shard, LockRequest request) {

        /** The same in all processes, whichever of the rules of a change they use. */
        static final Comparator<Step> ORDER = Comparator.comparing(Step::shard)
                .thenComparing(step -> step.request().name());
    }

    JointAcquisition(Routes routes, Collection<LockRequest> requests) {
        this.routes = routes;
        this.requests = requests;
        this.wait = requests.stream()
                .map(request -> request.waitTime().orElse(LockRequest.DEFAULT_WAIT))
                .min(Comparator.naturalOrder())
                .orElseThrow(() -> new IllegalArgumentException("There is nothing to acquire"));
        Set<String> names = new HashSet<>();
        for (LockRequest request : requests) {
            if (!names.add(request.name())) {
                throw new IllegalArgumentException("Lock '" + request.name() + "' was named twice");
            }
        }
    }

    /**
     * Returns a handle for each request, in the order of acquisition. Begins again if a lease had expired before the last lock was
     * granted.
     */
    LockHandles acquire() throws InterruptedException {
        List<Step> steps = steps();
        while (true) {
            Map<Step, LockHandle> acquired = acquired(steps);
            try {
                LockHandles all = combined(acquired);
                if (all.remaining().isZero()) {
                    all.ensureValidFor(Duration.ZERO);
                }
                return all;
            } catch (LockLostException tooLate) {
                Handles.release(acquired.values());
                if (left().isZero()) {
                    throw notAcquired(tooLate);
                }
            } catch (RuntimeException | Error failed) {
                Handles.releaseAfter(failed, acquired.values());
                throw failed;
            }
        }
    }

    private Map<Step, LockHandle> acquired(List<Step> steps) throws InterruptedException {
        Map<Step, LockHandle> acquired = new LinkedHashMap<>();
        try {
            for (Step step : steps) {
                LockRequest request = step.request().waitAtMost(left());
                acquired.put(step, routes.service(step.shard()).acquire(request));
            }
            return acquired;
        } catch (RuntimeException | Error | InterruptedException notAcquired) {
            Handles.releaseAfter(notAcquired, acquired.values());
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

    private Duration left() {
        Duration left = wait.minusNanos(System.nanoTime() - start);
        return left.isNegative() ? Duration.ZERO : left;
    }

    private LockNotAcquiredException notAcquired(LockLostException tooLate) {
        LockNotAcquiredException notAcquired = new LockNotAcquiredException(
                tooLate.lockName().orElse(""),
                wait,
                "it was lost before the last of the locks that were requested with it was granted");
        notAcquired.initCause(tooLate);
        return notAcquired;
    }

    private LockHandles combined(Map<Step, LockHandle> acquired) {
        Map<LockRequest, LockHandle> combined = new LinkedHashMap<>();
        acquired.forEach((step, handle) -> combined.merge(step.request(), handle, (first, second) -> {
            MigratingName moving = routes.moving(step.request().name()).orElseThrow();
            return step.shard().equals(moving.next().name())
                    ? moving.pair(step.request(), first, second)
                    : moving.pair(step.request(), second, first);
        }));
        return LockHandles.of(List.copyOf(combined.values()));
    }
}
