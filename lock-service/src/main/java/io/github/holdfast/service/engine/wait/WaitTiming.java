package io.github.holdfast.service.engine.wait;

import java.time.Duration;

/** How often a service reads for its waiters, and how long each of them relies on that. */
public final class WaitTiming {

    /** How often the poller reads while the node listens. A missing wake-up costs this much time. */
    public static final Duration POLL_PERIOD = Duration.ofSeconds(1);

    /**
     * How long a waiter relies on {@link WaiterPoller}. The poller does not notice that the lock's row was deleted, which
     * makes the lock free too.
     */
    public static final Duration LONGEST_PAUSE = Duration.ofMinutes(1);

    /** The same for an owner that the user chose. Another process may acquire the lock for that owner, so that it can re-enter. */
    public static final Duration LONGEST_PAUSE_OF_CHOSEN_OWNER = Duration.ofSeconds(1);

    /**
     * The same while the lock is free for an earlier request. When that one has it, a lease shows how long to wait, and nothing wakes a
     * waiter at the end of a lease.
     */
    public static final Duration LONGEST_PAUSE_BEHIND_OTHERS = Duration.ofMillis(150);

    private WaitTiming() {}
}
