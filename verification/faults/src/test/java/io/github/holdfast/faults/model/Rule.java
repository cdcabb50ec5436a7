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

    /**
     * A grant after one without an answer has a greater token than that would have had. After a failover has undone the first, the same
     * owner would else have the same token with the same version, and a decision on what was undone would match.
     */
    NEW_TOKEN_AFTER_DOUBT,

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
    CONFIRM_BY_A_LATER_BEAT,

    /** A write that ended well after its cancellation had begun has no answer: perhaps no standby has it. */
    BELIEVE_NO_CANCELLED_WRITE,

    /** One's own row that is seen after an unanswered grant is adopted by a further write that is answered, not by the look. */
    ADOPT_BY_A_WRITE,

    /** What is given up is settled by a write that is answered, not by a look that shows the row free. */
    SETTLE_BY_A_WRITE,

    /** Nobody takes a lock, or ends a node, before its lease has been over for the clock tolerance. */
    TOLERATE_OTHER_CLOCKS,

    /** A grant through a node demands that node's row, not ended, in the database of the lock's row. */
    GRANT_DEMANDS_ITS_NODE,

    /** A node that was ended by hand has left its locks when its lease is over, and not before. */
    ENDED_BY_HAND_LASTS_TO_ITS_END,

    /** A lock that is held through a node without a row is left one lease of that node after its grant, and not before. */
    WITHOUT_NODE_LASTS_A_LEASE,

    /** A revived hold lasts no longer than its grant, until a beat that was sent after the revival is confirmed. */
    A_REVIVAL_PROLONGS_NOTHING,

    /** A row that was kept when a reconciliation began is only given back: the reconciliation may have found it changed. */
    NONE_IS_REVIVED_AFTER_A_RECONCILIATION,

    /** A hold under which a commit had no answer is not kept. A revival writes nothing, and so would not wait for that commit. */
    NONE_IS_KEPT_AFTER_AN_UNKNOWN_COMMIT,

    /** A revived hold has the next token of the block that its grant has taken. */
    A_REVIVED_HOLD_HAS_A_NEW_TOKEN,

    /** A row that is being given back is not revived. */
    A_ROW_IS_CLAIMED_BEFORE_IT_IS_GIVEN_BACK
}
