package io.github.holdfast.service.engine.acquire;

import io.github.holdfast.entity.LockAvailability;
import io.github.holdfast.entity.LockHolder;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.rows.HolderRows.HolderSnapshot;
import io.github.holdfast.repository.rows.LockSnapshot;
import io.github.holdfast.service.engine.hold.ExpiryMonitor;
import io.github.holdfast.service.engine.hold.HoldCollaborators;
import io.github.holdfast.service.engine.hold.HoldRegistry;
import io.github.holdfast.service.engine.hold.HoldRegistry.Reentry;
import io.github.holdfast.service.engine.hold.KeptLocks;
import io.github.holdfast.service.engine.hold.LeaseHold;
import io.github.holdfast.service.engine.hold.PendingAcquisitions;
import io.github.holdfast.service.engine.node.Heartbeat;
import io.github.holdfast.service.engine.node.NodeObserver;
import io.github.holdfast.service.engine.row.LockAccess;
import io.github.holdfast.service.engine.runtime.ListenerDispatcher;
import io.github.holdfast.service.engine.runtime.ProcessIdentity;
import io.github.holdfast.service.engine.runtime.ServicePhase;
import io.github.holdfast.service.engine.runtime.SuspensionDetector;
import io.github.holdfast.service.engine.tx.TransactionGuard;
import java.time.Duration;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What the acquisitions of one service share.
 *
 * @param forHolds what their holds use
 * @param phase whether the service is open
 * @param pending the acquisitions under way
 * @param kept the rows of released locks that are kept for the next holder
 * @param closeShares stops threads from joining the shares of a lock
 * @param policy the rules for a takeover
 * @param identity identifies the acquirer
 * @param monitor reports the losses of holds on time
 * @param downgrader changes a hold to a share
 */
public record HoldContext(
        HoldCollaborators forHolds,
        ServicePhase phase,
        PendingAcquisitions pending,
        KeptLocks kept,
        Consumer<String> closeShares,
        TakeoverPolicy policy,
        ProcessIdentity identity,
        ExpiryMonitor monitor,
        LeaseHold.Downgrader downgrader) {

    /**
     * When a lock is taken from its holder, and when it can be granted again.
     *
     * @param lockDelay how long a lock that a dead holder left cannot be acquired
     * @param clockTolerance the time that must pass between the end of a lease and a takeover
     * @param nodes judges whether the node of another service is dead
     */
    public record TakeoverPolicy(Duration lockDelay, Duration clockTolerance, NodeObserver nodes) {

        /**
         * Returns whether a lock is available to an owner.
         *
         * @param nodeId the node to hold it through; null to hold it by a lease
         * @param sentAt the local time before the lock was read
         */
        public LockAvailability availability(LockSnapshot seen, String owner, @Nullable String nodeId, long sentAt) {
            return seen.availability(owner, nodeId, clockTolerance, nodes.judgement(seen.dbNow(), sentAt));
        }

        /**
         * Returns the state of a holder.
         *
         * @param sentAt the local time before the holder was read
         */
        LockHolder.State state(HolderSnapshot seen, long sentAt) {
            return seen.state(clockTolerance, nodes.judgement(seen.dbNow(), sentAt));
        }
    }

    public LockAccess access() {
        return forHolds.access();
    }

    public Heartbeat heartbeat() {
        return forHolds.heartbeat();
    }

    public HoldRegistry holds() {
        return forHolds.holds();
    }

    public TransactionGuard transactions() {
        return forHolds.transactions();
    }

    public ListenerDispatcher listeners() {
        return forHolds.listeners();
    }

    /**
     * Registers the calling thread's hold until its release. If that fails, releases the hold, because nothing else would.
     *
     * @param request what it was granted for
     * @param suspension begun before the grant: the lease counts from there, but the monitor detects only what happens from now on
     */
    public void register(LeaseHold hold, LockRequest request, SuspensionDetector suspension) {
        try {
            transactions().checkSnapshot(hold);
            holds().add(hold, Thread.currentThread(), reentry(request));
            hold.lifetime().confirmOnceKept();
            if (request.isInterruptedOnLoss()) {
                hold.lifetime().interruptOnLoss(Thread.currentThread());
            }
            transactions().join(hold);
            monitor.expect(hold);
            if (suspension.detect()) {
                monitor.recheck();
            }
        } catch (RuntimeException | Error thrown) {
            hold.releaseAll();
            throw thrown;
        }
    }

    /** Notes that the hold goes on for another request of its thread. */
    public void registerAgain(LeaseHold hold, LockRequest request) {
        holds().rebind(hold, reentry(request));
        monitor.expect(hold);
    }

    private static Reentry reentry(LockRequest request) {
        return request.isReentrant() && request.owner().isEmpty() ? Reentry.BY_THREAD : Reentry.NONE;
    }
}
