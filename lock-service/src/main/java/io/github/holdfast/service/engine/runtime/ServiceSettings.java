package io.github.holdfast.service.engine.runtime;

import io.github.holdfast.lock.LockListener;
import io.github.holdfast.repository.ReadableDuration;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The settings that a service was built with.
 *
 * @param application the application's name in readable descriptions
 * @param nodeLease how long the node lives without a heartbeat
 * @param lockDelay how long no owner can acquire a lock that a dead holder left
 * @param clockTolerance the time that must pass between the end of a lease and a takeover
 * @param listeners the listeners to notify
 * @param housekeepingPeriod how often housekeeping cleans up the tables; null for never
 * @param retention how long idle rows are kept
 * @param maxRowLocks how many row locks may have a transaction of their own at a time
 * @param writers whether the application writes to one server of a cluster at a time
 * @param wakeUp how a waiter learns that another node has released a lock
 * @param leakDetection after how long a held lock is reported; null for never
 * @param keepReleased how long a released lock is kept for the next holder in this process; null if none is
 * @param ticker the local clocks
 */
public record ServiceSettings(
        String application,
        Duration nodeLease,
        Duration lockDelay,
        Duration clockTolerance,
        List<LockListener> listeners,
        @Nullable Duration housekeepingPeriod,
        Duration retention,
        int maxRowLocks,
        Writers writers,
        WakeUp wakeUp,
        @Nullable Duration leakDetection,
        @Nullable Duration keepReleased,
        Ticker ticker) {

    /** The default of {@link #nodeLease}. */
    public static final Duration DEFAULT_NODE_LEASE = Duration.ofSeconds(30);

    private static final Duration SHORTEST_NODE_LEASE = Duration.ofSeconds(1);
    private static final Duration LONGEST_NODE_LEASE = Duration.ofDays(1);

    /** The settings, with the real local clocks. */
    public ServiceSettings(
            String application,
            Duration nodeLease,
            Duration lockDelay,
            Duration clockTolerance,
            List<LockListener> listeners,
            @Nullable Duration housekeepingPeriod,
            Duration retention,
            int maxRowLocks,
            Writers writers,
            WakeUp wakeUp,
            @Nullable Duration leakDetection,
            @Nullable Duration keepReleased) {
        this(
                application,
                nodeLease,
                lockDelay,
                clockTolerance,
                listeners,
                housekeepingPeriod,
                retention,
                maxRowLocks,
                writers,
                wakeUp,
                leakDetection,
                keepReleased,
                Ticker.SYSTEM);
    }

    /**
     * Checks the lease of a node.
     *
     * @throws IllegalArgumentException if it is shorter than 1 second or longer than a day
     */
    public static Duration checkedNodeLease(Duration nodeLease) {
        if (nodeLease.compareTo(SHORTEST_NODE_LEASE) < 0 || nodeLease.compareTo(LONGEST_NODE_LEASE) > 0) {
            throw new IllegalArgumentException(
                    "The lease of the node must be from " + new ReadableDuration(SHORTEST_NODE_LEASE) + " to "
                            + new ReadableDuration(LONGEST_NODE_LEASE) + ", but is " + new ReadableDuration(nodeLease));
        }
        return nodeLease;
    }

    /** Returns these settings with other local clocks, for tests. */
    public ServiceSettings withTicker(Ticker other) {
        return new ServiceSettings(
                application,
                nodeLease,
                lockDelay,
                clockTolerance,
                listeners,
                housekeepingPeriod,
                retention,
                maxRowLocks,
                writers,
                wakeUp,
                leakDetection,
                keepReleased,
                other);
    }

    /** Whether the application writes to one server of a cluster at a time. */
    public enum Writers {
        AS_THE_DATABASE_ALLOWS,
        ONE_AT_A_TIME
    }

    /** How a waiter learns of releases by other nodes. */
    public enum WakeUp {
        BY_POLLING,
        WHERE_POSSIBLE
    }
}
