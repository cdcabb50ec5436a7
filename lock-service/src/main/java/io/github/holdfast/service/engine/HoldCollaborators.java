package io.github.holdfast.service.engine;

/**
 * What each hold of one service uses.
 *
 * @param access reads and writes the rows of locks
 * @param heartbeat keeps the node alive
 * @param holds the holds of the service
 * @param transactions the callers' transactions
 * @param listeners notifies the log and the users' listeners
 */
record HoldCollaborators(
        LockAccess access,
        Heartbeat heartbeat,
        HoldRegistry holds,
        TransactionGuard transactions,
        ListenerDispatcher listeners) {}
