package io.github.holdfast.faults.model.clocks;

/** A rule of the protocol that the explorer can be told to break. */
enum Rule {
    /** Where servers have clocks of their own, only an observation ends a node: its counter has not moved for a whole lease. */
    OBSERVE,

    /** The observation begins again when the counter moves. */
    BEGIN_AGAIN_WHEN_IT_MOVES,

    /** It begins with the answer of the read, not when the read is sent. */
    BEGIN_WITH_THE_ANSWER,

    /** The first sight of a counter begins an observation of this service; those of other services do not count. */
    ONLY_OWN_OBSERVATIONS,

    /** The statement that ends the node compares the counter. */
    COMPARE_THE_COUNTER,

    /** The observation is longer than the lease, by as much as two clocks may differ in rate. */
    HEED_THE_RATE,

    /** Each beat writes another counter, also one that repeats a beat without an answer. */
    ANOTHER_COUNTER_FOR_EACH_BEAT,

    /** A service that starts again has a new node. */
    ANOTHER_NODE_FOR_EACH_LIFE,

    /** A beat prolongs the node from before it was sent, not from its answer. */
    PROLONG_FROM_BEFORE_THE_BEAT,

    /** A failover undoes nothing that was answered: condition 1 of the guarantees. */
    KEEP_WHAT_WAS_ANSWERED,

    /** The service has read the clock before it was set: condition 3 of the guarantees. */
    READ_THE_CLOCK_BEFORE,

    /** After a step of the one clock, that clock ends no node. */
    HEED_A_STEP,

    /** That lasts for a whole lease. */
    HEED_A_STEP_FOR_A_LEASE
}
