package io.github.holdfast.faults.model.waiting;

/** A rule of waiting that the explorer can be told to break. */
enum Rule {
    /** A waiter that has just placed its ticket looks again: a release that was under way has not seen the ticket. */
    LOOK_AFTER_TICKET,

    /** The same for a ticket that is placed again, because it was removed. */
    LOOK_AFTER_EACH_TICKET,

    /** A release rings the service that has waited longest. */
    RING_ON_RELEASE,

    /** A release rings others, not its own service. */
    RING_OTHERS,

    /** A release wakes the waiters of its own service. */
    WAKE_OWN,

    /** A waiter that was rung and leaves without the lock rings the next service. */
    PASS_THE_RING_ON,

    /** A ring for which nobody waits is passed on. */
    PASS_ON_WHAT_NOBODY_WAITS_FOR,

    /**
     * A ring for which nobody waited is passed on even if somebody has come before the stray tickets were removed: who has come
     * need not be the next one.
     */
    PASS_ON_WHAT_A_NEWCOMER_CANNOT_USE,

    /** A fair waiter that leaves without the lock rings the next service even if it was not rung. */
    RING_WHEN_LEAVING_THE_QUEUE,

    /** The mark of a dead service ends, and with it its tickets count no more. */
    MARKS_END,

    /** A fair request is granted only if it is the first in the queue, or the queue is empty. */
    CHECK_THE_QUEUE,

    /** The row is read before the queue. */
    ROW_BEFORE_QUEUE,

    /** The grant names the version of the row that was read. */
    COMPARE_THE_VERSION,

    /** A fair waiter removes its ticket right after the grant, not after the release. */
    LEAVE_AFTER_THE_GRANT,

    /** A ticket that no thread has is removed when its service is rung, or finds it first in the queue. */
    REMOVE_STRAY,

    /** A fair waiter that has waited for long and finds that another is first rings: the first may be a ticket that nobody has. */
    RING_THE_FIRST,

    /** After stray tickets were removed, the waiters that have come meanwhile place theirs again. */
    PLACE_AGAIN_AFTER_REMOVAL,

    /** A service that begins to wait polls until the releases of all others see that. */
    POLL_UNTIL_NOTICED,

    /** Before it relies on rings, it looks once more. */
    LOOK_WHEN_NOTICED,

    /** An answer that no service waits counts from its query on, not from its arrival. */
    COUNT_FROM_THE_QUERY,

    /** The poller looks. */
    POLL
}
