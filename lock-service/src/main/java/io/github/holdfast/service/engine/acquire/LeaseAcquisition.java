package io.github.holdfast.service.engine.acquire;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.rows.LockRows;
import io.github.holdfast.repository.rows.LockSnapshot;
import io.github.holdfast.repository.rows.WaiterRows.WaitMode;
import io.github.holdfast.service.engine.acquire.AttemptResult.Failed;
import io.github.holdfast.service.engine.acquire.AttemptResult.Granted;
import io.github.holdfast.service.engine.acquire.AttemptResult.HandOffInDoubt;
import io.github.holdfast.service.engine.acquire.AttemptResult.LostRace;
import io.github.holdfast.service.engine.acquire.AttemptResult.PermanentFailure;
import io.github.holdfast.service.engine.acquire.AttemptResult.Shared;
import io.github.holdfast.service.engine.acquire.AttemptResult.SharedByOthers;
import io.github.holdfast.service.engine.acquire.AttemptResult.TransientFailure;
import io.github.holdfast.service.engine.hold.HandOff;
import io.github.holdfast.service.engine.hold.HandOffWaiter;
import io.github.holdfast.service.engine.hold.KeptLocks;
import io.github.holdfast.service.engine.hold.LeaseHold;
import io.github.holdfast.service.engine.row.InDoubtWrites;
import io.github.holdfast.service.engine.row.LockRow;
import io.github.holdfast.service.engine.row.NewGrant;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.tx.TransactionGuard;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One outermost acquisition of a lock with a lease or through a node. When it gives up while a grant is in doubt, {@link InDoubtWrites} makes
 * the grant impossible.
 */
public final class LeaseAcquisition extends Acquisition<LeaseHold> implements HandOffWaiter.Candidate {

    private final GrantStep step;
    private final GrantAttempt grants;

    /** Whether it may go on with a grant that this service keeps, and its own grant may be kept. */
    private final boolean isKept;

    private @Nullable SharedHolders sharedHolders;
    private boolean wasOvertaken;

    /**
     * An acquisition that has not begun.
     *
     * @param step the additional step in the transaction of the grant
     */
    public LeaseAcquisition(HoldContext context, LockRequest request, GrantStep step) {
        super(context, request, WaitMode.EXCLUSIVE, request.owner().orElse(null));
        this.step = step;
        this.isKept = isPlain(request, step) && context.kept().mayKeep(request.name());
        this.grants = new GrantAttempt(this, step, isKept ? KeptLocks.BLOCK : 1);
    }

    /**
     * Whether a grant of this process does as well as one of its own. Inside of a transaction, it would not: only a row that is written shows
     * whether the transaction's snapshot is older.
     */
    private static boolean isPlain(LockRequest request, GrantStep step) {
        return step == GrantStep.NONE
                && request.lease().isEmpty()
                && request.owner().isEmpty()
                && request.minimumHold().isEmpty()
                && !request.isFair()
                && request.isReentrant()
                && !TransactionGuard.isInAnyTransaction();
    }

    @Override
    public Optional<LeaseHold> acquire(Deadline deadline) throws InterruptedException {
        AttemptResult result = null;
        try {
            Optional<AttemptResult> inherited = awaitHandOff(deadline);
            inherited.ifPresent(this::last);
            result = inherited.isPresent() ? inherited.get() : repeat(deadline);
        } finally {
            if (!(result instanceof Granted)) {
                giveUp();
            }
        }
        if (result instanceof Granted granted) {
            return Optional.of(hold((NewGrant.OfLock) granted.grant()));
        }
        if (result instanceof Failed failed) {
            throw new LockStoreException(name(), "was not acquired, and no other holder was seen", failed.why());
        }
        return Optional.empty();
    }

    private void giveUp() {
        LockEntity inDoubt = grants.inDoubt();
        if (inDoubt != null) {
            access().inDoubtWrites().abandon(name(), grants.ownOwner(), inDoubt.version());
        }
        if (sharedHolders != null) {
            sharedHolders.giveUp();
        }
    }

    /**
     * Waits for a hand-off, if another thread of this process holds the lock.
     *
     * @return the grant, or {@link HandOffInDoubt} if that thread is still writing it; empty if the lock must be
     *     acquired from the database
     */
    private Optional<AttemptResult> awaitHandOff(Deadline deadline) throws InterruptedException {
        Optional<LeaseHold> holder = context().holds().ofName(name()).filter(LeaseHold::isHeld);
        if (holder.isEmpty() || !isQueued() || deadline.isOver()) {
            return Optional.empty();
        }
        grants.begin();
        try {
            grants.prepare(deadline);
        } catch (StoreException failed) {
            // The loop asks the database again, and reports a lasting failure.
            return Optional.empty();
        }
        HandOffWaiter waiter = new HandOffWaiter(context().phase(), access().ticker(), this);
        holder.get().expect(waiter);
        Optional<NewGrant.OfLock> granted = waiter.await(holder.get()::isHeld, deadline);
        return waiter.isAbandoned() ? Optional.of(new HandOffInDoubt()) : granted.map(Granted::new);
    }

    @Override
    public Optional<NewGrant.OfLock> acquireByHandOff(LockRows locks, LockEntity row, long since) {
        try {
            return grants.acquireByHandOff(locks, row, since);
        } catch (RuntimeException | Error thrown) {
            if (StoreException.leavesDoubt(thrown)) {
                grants.doubt(row);
            }
            throw thrown;
        }
    }

    /** {@inheritDoc} The next attempt skips the read. */
    @Override
    public void created(LockEntity created) {
        if (canSkipRead()) {
            access().freeRows().created(created, access().ticker().nanoTime());
        }
    }

    /** {@inheritDoc} The next attempt skips the read, if the release was the only change. */
    @Override
    public void releasedByOther(LockEntity held) {
        if (canSkipRead()) {
            access().freeRows().expectReleased(held, access().ticker().nanoTime());
        }
    }

    private boolean canSkipRead() {
        return step == GrantStep.NONE && !request().isFair();
    }

    @Override
    public AttemptResult attempt(Deadline deadline) {
        grants.begin();
        Optional<NewGrant.OfLock> revived = revive();
        if (revived.isPresent()) {
            return new Granted(revived.get());
        }
        try {
            grants.prepare(deadline);
            AttemptResult result = execute(deadline.forOneStatement());
            if (result instanceof Shared shared) {
                result = takeFromShared(shared.seen(), deadline);
            }
            wasOvertaken = result instanceof LostRace;
            grants.answered();
            return result;
        } catch (StoreException failed) {
            LockEntity sent = grants.sent();
            if (sent != null && failed.failure().isAmbiguous()) {
                grants.doubt(sent);
                return grants.ownOwner() == null ? provenNotSent(sent, failed, deadline) : new TransientFailure(failed);
            }
            // If a grant is in doubt, its own transaction may have locked the row.
            return grants.hasAsked() && grants.inDoubt() == null
                    ? failed(failed, deadline)
                    : AttemptResult.failed(failed);
        } catch (RuntimeException | Error thrown) {
            // The database may have executed the statement, whatever the driver has thrown.
            LockEntity sent = grants.sent();
            if (sent != null) {
                grants.doubt(sent);
            }
            throw thrown;
        }
    }

    /** Goes on with a grant that this service keeps. If it may not, gives the row back. */
    private Optional<NewGrant.OfLock> revive() {
        if (canInherit()) {
            return context().kept().revive(name(), this);
        }
        context().kept().giveBack(name());
        return Optional.empty();
    }

    @Override
    public boolean canInherit() {
        return isKept && grants.inDoubt() == null;
    }

    private AttemptResult execute(Duration atMost) {
        if (wasOvertaken) {
            return access().store().inTransaction(atMost, grants::attemptLocked);
        }
        return step == GrantStep.NONE
                ? grants.attempt(access().autocommit(atMost))
                : access().store().inTransaction(atMost, grants::attemptAfterRead);
    }

    /** Takes a lock that was shared, unless it has holders. Any shared grant since the read would have changed the row's version. */
    private AttemptResult takeFromShared(LockSnapshot seen, Deadline deadline) {
        SharedHolders holders = sharedHolders();
        Optional<AttemptResult> blockers = holders.findBlockers(seen, deadline);
        if (blockers.isPresent()) {
            if (blockers.get() instanceof SharedByOthers refused) {
                holders.reserve(refused, deadline);
            }
            return blockers.get();
        }
        Duration atMost = deadline.forOneStatement();
        return step == GrantStep.NONE
                ? grants.take(access().autocommit(atMost), seen)
                : access().store().inTransaction(atMost, locks -> grants.take(locks, seen));
    }

    private SharedHolders sharedHolders() {
        SharedHolders holders = sharedHolders;
        if (holders == null) {
            holders = new SharedHolders(context(), name());
            sharedHolders = holders;
        }
        return holders;
    }

    /**
     * Settles a write in doubt for an owner that other processes may use too. The row cannot show which process wrote it. So
     * this changes the version on which the write was based. If that succeeds, the write has not happened, and never will.
     */
    private AttemptResult provenNotSent(LockEntity before, StoreException failed, Deadline deadline) {
        try {
            boolean superseded =
                    access().autocommit(deadline.forOneStatement()).supersede(before.name(), before.version());
            grants.settled();
            return superseded ? new LostRace() : new PermanentFailure(failed);
        } catch (StoreException alsoFailed) {
            failed.addSuppressed(alsoFailed);
            return new PermanentFailure(failed);
        }
    }

    private LeaseHold hold(NewGrant.OfLock granted) {
        LeaseHold hold = stillValid(hold(context(), request(), granted), granted);
        tellIfTakenOver(hold.grant(), granted.token());
        return hold;
    }

    /** The hold of a lock that was just granted for this request. The row of the grant has an owner. */
    public static LeaseHold hold(HoldContext context, LockRequest request, NewGrant.OfLock granted) {
        LockRow row =
                new LockRow(context.access(), granted.row(), request.owner().isPresent());
        HandOff handOff =
                new HandOff(context.access(), context.pending(), context.phase(), context.kept(), row, granted);
        return new LeaseHold(context.forHolds(), request, granted, row, handOff, context.downgrader());
    }

    private void tellIfTakenOver(Grant grant, long token) {
        LockEntity left = grants.replaced();
        if (left != null && left.owner() != null && !left.isShared() && left.fencingToken() != grant.fencingToken()) {
            context().listeners().tell(l -> l.takenOver(grant.name(), token, left.holder()));
        }
    }
}
