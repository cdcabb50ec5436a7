package io.github.holdfast.faults.model.waiting;

/** What must hold in every state that can be reached. */
enum Promise {
    /** At most one thread holds the lock. */
    ONE_HOLDER,

    /**
     * A fair request is not granted while an earlier one waits whose place the database showed when the later one read the lock's
     * row.
     */
    ORDER_OF_ARRIVAL,

    /**
     * When all programs have done what they do at once, and nothing is on its way, no thread sleeps until the next look of the
     * poller while the lock is free. Excused is what {@link State#isExcused} and {@link State#isGhostFirst} describe.
     */
    NO_LOST_WAKE_UP,

    /** If no faults and no further requests come, every waiting thread is granted the lock. */
    WAITERS_ARE_SERVED,

    /** If no faults come, but further requests do, no ticket is left in the end, except of a dead service. */
    NO_TICKET_IS_LEFT
}
