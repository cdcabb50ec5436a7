package io.github.holdfast.faults.model;

/** What must hold in every state that can be reached: U, G and L are at most one holder, guarded commits and liveness. */
enum Invariant {
    /** U: at most one service believes to hold the lock. */
    ONE_HOLDER,

    /** G: guarded commits never go out of the order of their tokens. */
    GUARDED_COMMITS_IN_ORDER,

    /** G: what a guarded transaction overwrites is what it has read. */
    NO_LOST_UPDATE,

    /** The token of each grant is greater than those of all grants before, except what a failover has undone. */
    TOKENS_INCREASE,

    /** L: from every state, steps without a fault lead to one in which the lock is free to take. */
    BECOMES_FREE
}
