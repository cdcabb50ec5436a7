package io.github.holdfast.service.engine.hold;

import io.github.holdfast.service.engine.node.Heartbeat;
import io.github.holdfast.service.engine.row.LockAccess;
import io.github.holdfast.service.engine.runtime.ListenerDispatcher;
import io.github.holdfast.service.engine.tx.TransactionGuard;

/**
 * What each hold of one service uses.
 *
 * @param access reads and writes the rows of locks
 * @param heartbeat keeps the node alive
 * @param holds the holds of the service
 * @param transactions the callers' transactions
 * @param listeners notifies the log and the users' listeners
 */
public record HoldCollaborators(
        LockAccess access,
        Heartbeat heartbeat,
        HoldRegistry holds,
        TransactionGuard transactions,
        ListenerDispatcher listeners) {}
