package io.github.holdfast.service.engine;

/**
 * The components that the acquisitions and holds of one service share.
 *
 * @param access reads and writes the rows of locks
 * @param phase whether the service is open
 * @param pending the acquisitions under way
 * @param heartbeat keeps the node alive
 * @param holds the holds of the service
 * @param transactions the callers' transactions
 * @param listeners notifies the log and the users' listeners
 * @param policy the rules for a takeover
 * @param identity says who acquires
 * @param registration registers new holds
 */
record HoldContext(
        LockAccess access,
        ServicePhase phase,
        PendingAcquisitions pending,
        Heartbeat heartbeat,
        HoldRegistry holds,
        TransactionGuard transactions,
        ListenerDispatcher listeners,
        TakeoverPolicy policy,
        ProcessIdentity identity,
        HoldRegistration registration) {}
