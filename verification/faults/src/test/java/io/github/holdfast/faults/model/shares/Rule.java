package io.github.holdfast.faults.model.shares;

/** A rule of the protocol that the explorer can be told to break. */
enum Rule {
    /** An exclusive grant reads the holders, if the row says that the lock was shared. */
    READ_THE_HOLDERS,

    /** It matches only the row that was read before the holders. */
    COMPARE_THE_ROW,

    /** The query of the holders compares the version of the row: another server, which is behind, may answer it. */
    HOLDERS_OF_THE_VERSION,

    /** Each shared grant leaves another owner in the row. A failover may undo one, and the next may have the same version and token. */
    ANOTHER_OWNER_EACH,

    /** The row of a dead holder is deleted before somebody takes its place in a lock. */
    REMOVE_THE_DEAD,

    /** The same in a semaphore: a row counts until it is deleted. */
    ALL_ROWS_COUNT,

    /** The statement that deletes it compares the lease again. */
    COMPARE_THE_LEASE_AGAIN,

    /** The overdue node of a holder is ended in a write of its own before. */
    END_THE_NODE_FIRST,

    /** A shared grant needs a lock that is free or shared. */
    NOT_BESIDE_AN_EXCLUSIVE_HOLDER,

    /** Permits are compared with the limit when the semaphore's row is locked, not before. */
    COMPARE_THE_LIMIT_IN_THE_GRANT,

    /** The token comes from the row that the grant has locked. */
    TOKEN_IN_THE_GRANT,

    /** A grant to a shared holder matches a limited number of versions. */
    THE_WINDOW_ENDS,

    /** Who makes an unanswered grant impossible moves the version past that window. */
    SUPERSEDE_THE_WINDOW,

    /** An unanswered grant is made impossible before it is concluded that it has not happened. */
    SETTLE_THE_UNANSWERED,

    /** A release deletes the row of its own grant. */
    RELEASE_NAMES_THE_GRANT,

    /** A downgrade matches only the row of its own grant. */
    DOWNGRADE_COMPARES_THE_GRANT,

    /** The write that shares the lock also adds the row of the holder. */
    DOWNGRADE_ADDS_THE_HOLDER,

    /** A transaction locks the row of its grant, and compares it, before it commits. */
    GUARD
}
