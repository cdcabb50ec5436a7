package io.github.holdfast.service.engine.share;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.lock.WaiterInfo;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.rows.HolderRows;
import io.github.holdfast.repository.rows.HolderRows.Claim;
import io.github.holdfast.repository.rows.HolderRows.HolderSnapshot;
import io.github.holdfast.repository.rows.LockSnapshot;
import io.github.holdfast.repository.rows.TransactionalLockRows;
import io.github.holdfast.service.engine.acquire.Acquisition;
import io.github.holdfast.service.engine.acquire.HoldContext;
import io.github.holdfast.service.engine.hold.Handle;
import io.github.holdfast.service.engine.hold.LeaseHold;
import io.github.holdfast.service.engine.hold.PendingAcquisitions;
import io.github.holdfast.service.engine.node.Node;
import io.github.holdfast.service.engine.row.HoldRow;
import io.github.holdfast.service.engine.row.LockAccess;
import io.github.holdfast.service.engine.row.LockRow.Successor;
import io.github.holdfast.service.engine.row.NewGrant;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.runtime.SuspensionDetector;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The change of an exclusive hold to a share of the same lock. It is a release whose write also grants the share, so that no other owner
 * gets the lock exclusively in between. If the share is not granted, the lock is released. Not thread-safe.
 */
public final class Downgrade implements Successor, PendingAcquisitions.Pending {

    private final HoldContext context;
    private final JoinableShares shares;
    private final LockAccess access;
    private final LeaseHold hold;
    private final LockRequest request;
    private final Claim claim;
    private final String holder;
    private final long begunAt;
    private final long reconciliations;

    /** The greatest version that an attempt was based on. */
    private long version;

    /** Whether an attempt had no answer. Then the share may be granted already. */
    private boolean isInDoubt;

    private NewGrant.@Nullable OfShare granted;

    private @Nullable Throwable failure;

    /** A change that has not begun. */
    public Downgrade(HoldContext context, JoinableShares shares, LeaseHold hold) {
        this.context = context;
        this.shares = shares;
        this.access = context.access();
        this.hold = hold;
        this.request = shareOf(hold);
        this.begunAt = access.ticker().nanoTime();
        this.reconciliations = context.heartbeat().reconciliations();
        Node node = hold.node();
        if (node != null) {
            node.expectShares();
        }
        this.holder = context.identity().current();
        this.claim = new Claim(
                hold.name(),
                context.identity().newOwner(),
                node == null ? null : node.id(),
                1,
                request.lease().orElse(null),
                holder);
    }

    /** The request of a share that lasts as long as the hold, and treats its thread and its transactions in the same way. */
    private static LockRequest shareOf(LeaseHold hold) {
        LockRequest share = LockRequest.of(hold.name()).shared();
        if (hold.isByLease()) {
            Duration left = hold.lifetime().remaining();
            Duration usual = hold.request().lease().orElseThrow();
            share = share.lease(usual.compareTo(left) > 0 ? usual : left);
        }
        if (!hold.request().isReentrant()) {
            share = share.notReentrant();
        }
        if (hold.request().isInterruptedOnLoss()) {
            share = share.interruptOnLoss();
        }
        return hold.requiresFence() ? share : share.withoutFence();
    }

    /**
     * Releases this handle, the only one of the hold, and grants the share to the calling thread. {@link LockHandle#downgrade}
     * documents the exceptions.
     */
    public LockHandle of(Handle handle) {
        context.phase().checkAccepting();
        // A reconciliation must not free the holder's row before the share is registered, and a closing service waits
        // for it.
        context.pending().begin(this);
        SuspensionDetector suspension = new SuspensionDetector(access.ticker());
        try {
            hold.downgrade(handle, this::beginRelease, this);
            LeaseHold share = share();
            context.listeners()
                    .acquired(
                            share.name(),
                            Optional.of(share.grant().fencingToken()),
                            Duration.ofNanos(access.ticker().nanoTime() - begunAt));
            context.register(share, request, suspension);
            access.lockReleased(share.name());
            access.waiterNotifier().wakeNext(share.name());
            return share.handle();
        } finally {
            context.pending().end(this);
        }
    }

    @Override
    public String name() {
        return claim.name();
    }

    @Override
    public String owner() {
        return claim.owner();
    }

    @Override
    public WaiterInfo info() {
        return new WaiterInfo(name(), holder, Duration.ofNanos(access.ticker().nanoTime() - begunAt));
    }

    /** Begins the release of the hold, or says why it cannot be downgraded now. */
    private void beginRelease() {
        String why = null;
        if (hold.isOwnerChosen()) {
            why = "its request has chosen the owner, so other processes may have the same hold";
        } else if (hold.request().minimumHold().isPresent()) {
            why = "its request has a minimum hold, and no other owner may share it before the end of that";
        } else if (hold.holdCount() > 1) {
            why = "it is held " + hold.holdCount() + " times: release the nested holds first";
        } else if (!hold.holdTransactions().beginReleaseIfFinished()) {
            why = "a transaction under it has not ended, and others would read what was before its commit: downgrade it"
                    + " after the transaction";
        }
        if (why != null) {
            throw hold.cannotBeDowngraded(why);
        }
    }

    /** The hold of the share. */
    private LeaseHold share() {
        NewGrant.OfShare share = granted;
        if (share != null) {
            return Acquisition.stillValid(shares.hold(context.forHolds(), request, share), share);
        }
        if (failure instanceof StoreException failed) {
            throw new LockStoreException(claim.name(), "was not downgraded, but released", failed);
        }
        if (failure instanceof Error error) {
            throw error;
        }
        if (failure instanceof RuntimeException thrown) {
            throw thrown;
        }
        throw hold.isLost()
                ? hold.lossException()
                : new LockLostException(claim.name(), LossCause.EXPIRED, "it expired before it was downgraded");
    }

    @Override
    public boolean write(LockEntity held) {
        try {
            Optional<Grant> written = Deadline.uninterruptibly(
                    access.ticker(),
                    HoldRow.WRITE_LIMIT,
                    deadline -> deadline.repeat(() -> attempt(held, deadline), failed -> {
                        isInDoubt |= failed.failure().isAmbiguous();
                        return failed.failure().isTransient();
                    }));
            granted = written.map(grant -> new NewGrant.OfShare(
                            grant,
                            hold.node(),
                            begunAt,
                            NewGrant.lease(hold.node(), claim.lease()),
                            reconciliations,
                            0,
                            false))
                    .orElse(null);
        } catch (StoreException failed) {
            failure = failed;
        } catch (RuntimeException | Error thrown) {
            // The database may have executed the commit, whatever the driver has thrown.
            isInDoubt = true;
            failure = thrown;
        }
        if (isInDoubt()) {
            access.inDoubtWrites().abandonShare(claim.name(), claim.owner(), version);
        }
        return granted != null;
    }

    @Override
    public boolean isInDoubt() {
        return granted == null && isInDoubt;
    }

    private Optional<Grant> attempt(LockEntity held, Deadline deadline) {
        return access.store().inTransaction(deadline.forOneStatement(), locks -> {
            Optional<Grant> written = write(held, permits());
            if (written.isPresent()) {
                return written;
            }
            Optional<Grant> earlier = isInDoubt ? earlier() : Optional.empty();
            return earlier.isPresent() ? earlier : afterRead(held, locks);
        });
    }

    private Optional<Grant> write(LockEntity held, HolderRows permits) {
        version = Math.max(version, held.version());
        return permits.downgrade(held, claim);
    }

    /** The grant of an unanswered attempt. A failover could undo what a read shows, so the holder's row is written. */
    private Optional<Grant> earlier() {
        return permits()
                .holder(claim.name(), claim.owner())
                .map(HolderSnapshot::grant)
                .filter(permits()::touch);
    }

    /** Writes once more if only the version of the row has changed: a transaction under the lock has protected it, for example. */
    private Optional<Grant> afterRead(LockEntity held, TransactionalLockRows locks) {
        Optional<LockEntity> now = locks.read(held.name())
                .filter(seen -> seen.row().isSameGrantAs(held) && seen.isHeldBy(hold.owner(), claim.nodeId()))
                .map(LockSnapshot::row);
        if (now.isEmpty()) {
            return Optional.empty();
        }
        Optional<Grant> written = write(now.get(), permits());
        if (written.isEmpty()) {
            throw StoreException.overtaken();
        }
        return written;
    }

    private HolderRows permits() {
        return access.store().permits();
    }
}
