package io.github.holdfast.shedlock;

import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.ReadableDuration;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import net.javacrumbs.shedlock.core.LockConfiguration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** ShedLock's durations within Holdfast's range. Warns once if that changes when a lock ends. Thread-safe. */
final class Durations {

    private static final Logger LOG = LoggerFactory.getLogger(HoldfastLockProvider.class);

    /** Holdfast's shortest lease would be over before the grant is known. Then the task would never run. */
    private static final Duration IN_PLACE_OF_NONE = Duration.ofSeconds(1);

    private final AtomicBoolean hasWarned = new AtomicBoolean();

    /** Returns the lease: a valid one. */
    Duration atMost(LockConfiguration configuration) {
        Duration wanted = configuration.getLockAtMostFor();
        if (wanted.compareTo(LockRequest.SHORTEST_LEASE) < 0) {
            return warned(configuration, IN_PLACE_OF_NONE);
        }
        if (wanted.compareTo(LockRequest.LONGEST_DURATION) > 0) {
            return warned(configuration, LockRequest.LONGEST_DURATION);
        }
        return wanted;
    }

    private Duration warned(LockConfiguration configuration, Duration used) {
        if (hasWarned.compareAndSet(false, true)) {
            LOG.warn(
                    "lockAtMostFor of lock '{}' is {}: used {} instead, because a lease is from {} to {}. Further"
                            + " warnings of this kind are left out",
                    configuration.getName(),
                    new ReadableDuration(configuration.getLockAtMostFor()),
                    new ReadableDuration(used),
                    new ReadableDuration(LockRequest.SHORTEST_LEASE),
                    new ReadableDuration(LockRequest.LONGEST_DURATION));
        }
        return used;
    }

    /** Returns the minimum hold: a valid one. */
    Duration atLeast(LockConfiguration configuration) {
        return inRange(configuration.getLockAtLeastFor());
    }

    static Duration inRange(Duration atLeast) {
        if (atLeast.isNegative()) {
            return Duration.ZERO;
        }
        return atLeast.compareTo(LockRequest.LONGEST_DURATION) > 0 ? LockRequest.LONGEST_DURATION : atLeast;
    }
}
