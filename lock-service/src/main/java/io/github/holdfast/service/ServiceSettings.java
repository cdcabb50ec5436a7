package io.github.holdfast.service;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a service was built with.
 *
 * @param application what the node calls itself, for people
 * @param nodeTiming when the node beats
 * @param lockDelay how long nobody may have a lock that a dead holder left
 * @param clockTolerance for how long a lease must have been over before a lock is taken from its holder
 * @param listeners who is told
 * @param housekeepingPeriod how often the tables are tidied up; null for never
 * @param retention how long idle rows are kept
 * @param maxRowLocks how many row locks may have a transaction of their own at a time
 * @param writers whether the application writes to one server of a cluster at a time
 * @param wakeUp how one who waits learns that another node has given a lock back
 * @param ticker the local passage of time
 */
record ServiceSettings(
        String application,
        NodeTiming nodeTiming,
        Duration lockDelay,
        Duration clockTolerance,
        List<LockListener> listeners,
        @Nullable Duration housekeepingPeriod,
        Duration retention,
        int maxRowLocks,
        Writers writers,
        WakeUp wakeUp,
        Ticker ticker) {

    enum Writers {
        AS_THE_DATABASE_ALLOWS,
        ONE_AT_A_TIME
    }

    enum WakeUp {
        BY_POLLING,
        BY_NOTIFICATION
    }
}
