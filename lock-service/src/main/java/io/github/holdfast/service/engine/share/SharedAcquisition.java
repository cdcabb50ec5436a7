package io.github.holdfast.service.engine.share;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.rows.LockSnapshot;
import io.github.holdfast.repository.rows.WaiterRows.WaitMode;
import io.github.holdfast.service.engine.acquire.AttemptResult;
import io.github.holdfast.service.engine.acquire.AttemptResult.Granted;
import io.github.holdfast.service.engine.acquire.AttemptResult.HolderNodeExpired;
import io.github.holdfast.service.engine.acquire.AttemptResult.LeftByDeadHolder;
import io.github.holdfast.service.engine.acquire.AttemptResult.ReservedByWriter;
import io.github.holdfast.service.engine.acquire.AttemptResult.RowMissing;
import io.github.holdfast.service.engine.acquire.AttemptResult.Unavailable;
import io.github.holdfast.service.engine.acquire.GrantAttempt;
import io.github.holdfast.service.engine.acquire.HoldContext;
import io.github.holdfast.service.engine.acquire.HoldContext.TakeoverPolicy;
import io.github.holdfast.service.engine.hold.LeaseHold;
import io.github.holdfast.service.engine.row.NewGrant;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.wait.Waiter;
import java.util.Optional;

/** One outermost acquisition of a shared lock. Each attempt checks whether the lock is free or shared. Not thread-safe. */
public final class SharedAcquisition extends ShareAcquisition {

    private final JoinableShares shares;

    /** An acquisition that has not begun. */
    public SharedAcquisition(HoldContext context, JoinableShares shares, LockRequest request) {
        super(context, request, WaitMode.SHARED);
        this.shares = shares;
    }

    /** {@inheritDoc} A share that this process has already is joined. No thread joins a share with a lease: it ends with the lease. */
    @Override
    public Optional<LeaseHold> acquire(Deadline deadline) throws InterruptedException {
        // The service may have begun to close while this thread was in the queue.
        context().phase().checkAccepting();
        Optional<LeaseHold> joined =
                JoinableShares.isPossible(store(), request()) ? shares.join(request(), deadline) : Optional.empty();
        return joined.isPresent() ? joined : super.acquire(deadline);
    }

    @Override
    LeaseHold hold(NewGrant.OfShare granted) {
        return shares.hold(context().forHolds(), request(), granted);
    }

    @Override
    int wantedPermits() {
        return 0;
    }

    @Override
    AttemptResult decide(Deadline deadline) {
        long sentAt = access().ticker().nanoTime();
        Optional<LockSnapshot> read =
                access().autocommit(deadline.forOneStatement()).read(name());
        if (read.isEmpty()) {
            return new RowMissing(name());
        }
        LockSnapshot seen = read.get();
        LockEntity row = seen.row();
        GrantAttempt.checkIsLock(row);
        if (row.isReserved(seen.dbNow())) {
            return new ReservedByWriter(seen.dbNow());
        }
        if (row.isShared()) {
            return share(row, deadline);
        }
        TakeoverPolicy policy = context().policy();
        return switch (policy.availability(seen, owner(), null, sentAt)) {
            // A lock that a dead holder left is freed first, in a statement that waits for the holder's transactions.
            case FREE -> row.owner() == null ? share(row, deadline) : new LeftByDeadHolder(row);
            case HOLDER_NODE_EXPIRED -> HolderNodeExpired.of(seen.node());
            case HELD_BY_CLAIMANT, HELD_BY_OTHER, NOT_YET_AVAILABLE ->
                new Unavailable(seen, policy.clockTolerance(), Waiter.LONGEST_PAUSE);
        };
    }

    private AttemptResult share(LockEntity row, Deadline deadline) {
        // Another grant may have come in between, because this one matches later versions too.
        boolean isNew = row.acquiredAt() == null;
        AttemptResult granted = grant(
                1,
                row.version(),
                grant -> isNew && grant.fencingToken() == row.fencingToken() + 1,
                permits()::share,
                deadline);
        if (granted instanceof Granted) {
            wakeNext();
        }
        return granted;
    }
}
