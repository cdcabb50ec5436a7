package io.github.holdfast.faults;

/** What an operation of a history is about. */
enum Action {
    /** A lease lock was asked for. */
    ACQUIRE,
    /** It was entered again by its owner. */
    REENTER,
    /** Its holder looked whether it still holds it; a failure means that it knows that it does not. */
    LOOK,
    /** It was renewed. */
    RENEW,
    /** One hold of it was given back. */
    RELEASE,
    /** A row lock was asked for. */
    ROW_ACQUIRE,
    /** It was given back; a failure means that it was broken meanwhile. */
    ROW_RELEASE,
    /** A lock was asked for to be shared. */
    SHARE,
    /** Who shares it looked whether it still does; a failure means that it knows that it does not. */
    SHARE_LOOK,
    /** The share was given back. */
    SHARE_RELEASE,
    /** A guarded transaction under a share has read the counter twice: the values that it has seen are in {@code holds} and {@code value}. */
    READ,
    /** A guarded transaction that counts one up was committed. */
    COMMIT,
    /** A fault that a worker does not survive. */
    KILL,
    /** A worker closes its service in the middle of its work; from when it begins, what it holds counts as given back. */
    CLOSE,
    /** A fault that needs no exemption. */
    FAULT,
    /** Rows were deleted by hand. */
    DELETE_ROWS,
    /** A lock was released by force. */
    FORCE_RELEASE,
    /** The database's clock was set forward. */
    SET_CLOCK_FORWARD,
    /** The faults are over. */
    CALM,
    /** Afterwards, the lock was asked for by somebody new. */
    PROBE,
    /** What a worker has left when its clients are done; it fails if that is something. */
    LEFT,
    /** Afterwards, what the lock's row shows; it fails if the row names a node that is dead. */
    ROW,
    /** Afterwards, the row of one who shares the lock, although everybody has given back. */
    SHARE_ROW,
    /** Afterwards, a place in the queue of a lock at which nobody waits; it fails if the place names a node that is dead. */
    PLACE,
    /** Afterwards, how many places in queues were seen while there were faults: in all, and of fair requests. */
    PLACES_SEEN,
    /** Afterwards, what the guarded transactions have counted. */
    COUNTER
}
