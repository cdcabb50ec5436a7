package io.github.holdfast.liquibase;

import io.github.holdfast.liquibase.LiquibaseLockRow.Seen;
import io.github.holdfast.repository.ReadableDuration;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import liquibase.GlobalConfiguration;
import liquibase.exception.LockException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One wait for the lock: how long it may take, and the pauses between two reads. */
final class WaitLimit {

    private static final Logger LOG = LoggerFactory.getLogger(WaitLimit.class);

    /** Waits a little longer than until the end of a lease, because of the clock tolerance. */
    private static final Duration AFTER_THE_END = Duration.ofMillis(200);

    private final long begin = System.nanoTime();
    private final Duration waitTime;
    private final Duration recheckTime;

    /**
     * Begins to wait.
     *
     * @param waitTime null for what Liquibase is configured for
     * @param recheckTime the longest pause; null for what Liquibase is configured for
     */
    WaitLimit(@Nullable Duration waitTime, @Nullable Duration recheckTime) {
        this.waitTime = waitTime != null
                ? waitTime
                : Duration.ofMinutes(GlobalConfiguration.CHANGELOGLOCK_WAIT_TIME.getCurrentValue());
        this.recheckTime = recheckTime != null
                ? recheckTime
                : Duration.ofSeconds(GlobalConfiguration.CHANGELOGLOCK_POLL_RATE.getCurrentValue());
    }

    /**
     * Pauses until the next read: until the lease ends that is in the way, but not longer than the recheck time.
     *
     * @throws LockException if the wait timed out, or the thread was interrupted
     */
    void pause(String name, Seen obstacle) throws LockException {
        Duration left = waitTime.minusNanos(System.nanoTime() - begin);
        if (left.isNegative() || left.isZero()) {
            throw new LockException("Liquibase's lock '%s' was not free within %s: %s"
                    .formatted(name, new ReadableDuration(waitTime), obstacle.reason()));
        }
        LOG.info("Waiting for Liquibase's lock '{}': {}", name, obstacle.reason());
        Duration untilFree = obstacle.untilFree();
        Duration pause = untilFree == null ? recheckTime : shorter(recheckTime, untilFree.plus(AFTER_THE_END));
        try {
            TimeUnit.NANOSECONDS.sleep(shorter(left, pause).toNanos());
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new LockException("Interrupted while waiting for Liquibase's lock", interrupted);
        }
    }

    private static Duration shorter(Duration one, Duration other) {
        return one.compareTo(other) < 0 ? one : other;
    }
}
