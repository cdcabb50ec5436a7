package io.github.holdfast.faults;

/** What is judged: docs/understand/guarantees.md. */
enum Promise {
    /** In the order of versions, no grant was over before an earlier one was asked for. */
    ORDERED_BY_VERSION,
    /** In that order, the tokens of a name increase. */
    TOKENS_INCREASE,
    /** What holders believed never overlaps, but for those who share the lock. */
    ONE_HOLDER,
    /** What a transaction reads under a share stays as it is until it has committed. */
    READ_UNCHANGED,
    /** In the order of what they have counted, the tokens of guarded commits never go back. */
    COMMITS_IN_ORDER_OF_TOKENS,
    /** What guarded commits have counted is their number. */
    NO_COMMIT_LOST,
    /** Whoever gave back as often as it took holds nothing. */
    COUNTS_RETURN_TO_ZERO,
    /** When the faults are over, every lock can be had soon. */
    BECOMES_FREE,
    /** When the faults are over, no row names a node that is dead. */
    NOTHING_LEFT_BY_THE_DEAD,
    /** When the work is done, no thread, connection, hold or place in a queue is left. */
    NOTHING_LEAKED
}
