package io.github.holdfast.service.engine;

/**
 * What the acquisitions of one service share.
 *
 * @param forHolds what their holds use
 * @param phase whether the service is open
 * @param pending the acquisitions under way
 * @param shares the shares that several threads hold together
 * @param policy the rules for a takeover
 * @param identity says who acquires
 * @param registration registers new holds
 */
record HoldContext(
        HoldCollaborators forHolds,
        ServicePhase phase,
        PendingAcquisitions pending,
        JoinableShares shares,
        TakeoverPolicy policy,
        ProcessIdentity identity,
        HoldRegistration registration) {

    LockAccess access() {
        return forHolds.access();
    }

    Heartbeat heartbeat() {
        return forHolds.heartbeat();
    }

    HoldRegistry holds() {
        return forHolds.holds();
    }

    TransactionGuard transactions() {
        return forHolds.transactions();
    }

    ListenerDispatcher listeners() {
        return forHolds.listeners();
    }
}
