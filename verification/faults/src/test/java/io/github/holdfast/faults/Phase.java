package io.github.holdfast.faults;

/** How far an operation is. One that has no end is like one that ended with {@link #UNKNOWN}. */
enum Phase {
    INVOKE,
    OK,
    /** Somebody else has the lock. */
    REFUSED,
    /** It was not done, and will not be. */
    FAIL,
    /** It may have been done, or may be done later. */
    UNKNOWN
}
