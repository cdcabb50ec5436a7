package io.github.holdfast.faults.model;

/** A rule of the protocol that the explorer can be told to break. */
enum Rule {
    /** An overdue node is ended in a write of its own, before the lock is taken. */
    END_THE_NODE_FIRST,

    /** After that write the lock is looked at again: if no row was changed, the node lives. */
    HEED_THE_COUNT_OF_THE_END,

    /** The end of a lease is computed in the write, not from the clock of the read. */
    EXPIRY_IN_THE_WRITE,

    /** A row that was purged and is made again starts above all versions that there were. */
    VERSION_NEVER_RESTARTS,

    /** The same for the token. */
    TOKEN_NEVER_RESTARTS,

    /** A compare-and-set also carries the token and the owner that it was decided on. */
    COMPARE_TOKEN_AND_OWNER,

    /** A look that does not show an unanswered grant does not prove that it will not happen. */
    A_LOOK_PROVES_NO_ABSENCE,

    /** Rows of a node that nobody accounts for are freed. */
    RECONCILE,

    /** A row lock writes what a dead owner left before it locks the row. */
    ROW_LOCK_WRITES_TAKEOVER,

    /** A transaction locks the row of its grant, and compares it, before it commits. */
    GUARD,

    /** After a forced release nobody is granted the lock before its holder must have noticed. */
    DELAY_AFTER_FORCED_RELEASE,

    /**
     * That is a whole lease of the holder's node from then on, for a hold may be younger than the node's last beat. What is left of
     * the node's lease is not enough: a hold that could not be looked at again may outlive it.
     */
    DELAY_BY_A_WHOLE_LEASE,

    /** A forced release moves the version of the holder's node on, so that its next beat misses. */
    ALERT_THE_NODE,

    /** A hold lasts as long as its node only after a beat that was sent when the grant was known. */
    CONFIRM_BY_A_LATER_BEAT
}
