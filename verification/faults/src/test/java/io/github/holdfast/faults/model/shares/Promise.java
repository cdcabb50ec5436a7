package io.github.holdfast.faults.model.shares;

/** What must hold in every state that can be reached. */
enum Promise {
    /** Who believes to have the lock alone is the only one who believes to have it. */
    ALONE,

    /** No more permits are believed to be held than the limit says. */
    LIMIT,

    /** The token of each grant is greater than those of all grants before, except what a failover has undone. */
    TOKENS_INCREASE,

    /** No fenced transaction commits after a grant to somebody whom its own hold excludes. */
    FENCE,

    /** From every state, steps without a fault lead to one in which no living holder is left. */
    BECOMES_FREE
}
