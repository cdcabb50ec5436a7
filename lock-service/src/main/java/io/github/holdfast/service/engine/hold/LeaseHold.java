package io.github.holdfast.service.engine.hold;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.service.engine.row.HoldRow;
import io.github.holdfast.service.engine.row.InDoubtWrites.DueRelease;
import io.github.holdfast.service.engine.row.LockRow.Successor;
import io.github.holdfast.service.engine.row.NewGrant;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.runtime.Ticker;
import io.github.holdfast.service.engine.tx.TransactionGuard;
import io.github.holdfast.service.engine.tx.TransactionScope;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The handles of a lock or a share that its row shows. It counts them, and serializes the writes that prolong, re-enter or end the grant.
 * Thread-safe.
 */
public final class LeaseHold extends GrantedHold {

    /** Changes a hold to a share. */
    public interface Downgrader {

        /** A share cannot be downgraded. */
        Downgrader REFUSE = LeaseHold::refuseDowngrade;

        /** See {@link LockHandle#downgrade}. */
        LockHandle downgrade(LeaseHold hold, Handle handle);
    }

    private final HoldRegistry holds;
    private final Downgrader downgrader;
    private final GrantRelease release;

    /** Protects writes to the row and the two counts of handles. */
    private final ReentrantLock writing = new ReentrantLock();

    /** The handles that the row counts, at the latest after its next write. It may count other processes' holds too. */
    private volatile int handles = 1;

    /** The handles that only this field counts. In their transaction, a write of the row would make the commit fail. */
    private volatile int handlesInMemory;

    /** A hold that was just granted for this request, with the row that shows the grant. */
    public LeaseHold(
            HoldCollaborators collaborators,
            LockRequest request,
            NewGrant granted,
            HoldRow row,
            GrantRelease release,
            Downgrader downgrader) {
        super(
                collaborators.access(),
                collaborators.heartbeat(),
                collaborators.transactions(),
                collaborators.listeners(),
                request,
                granted,
                row);
        this.holds = collaborators.holds();
        this.downgrader = downgrader;
        this.release = release;
    }

    /** The hold of a share that was just granted for this request. */
    public static LeaseHold ofShare(
            HoldCollaborators collaborators, LockRequest request, NewGrant granted, HoldRow row) {
        GrantRelease release = new GrantRelease(collaborators.access(), row);
        return new LeaseHold(collaborators, request, granted, row, release, Downgrader.REFUSE);
    }

    @Override
    public int holdCount() {
        return (isOwnerChosen() ? row.holdCount() : handles) + handlesInMemory;
    }

    /** Whether the hold is neither lost nor being released. */
    public boolean isHeld() {
        return !release.hasBegun() && !isLost();
    }

    /** Registers the calling thread as waiting for the lock after this hold. */
    public void expect(HandOffWaiter next) {
        release.expect(next);
    }

    @Override
    void lost() {
        holds.lost(this);
    }

    @Override
    public void detach() {
        detached();
        holds.detach(this);
        lifetime.spare();
    }

    /**
     * Counts one more handle. Also writes the count to the database, unless that would make the calling thread's commit fail.
     *
     * @param inner the nested request
     * @return false if the hold is lost
     * @throws IllegalStateException if the hold has a lease, and the request has none
     * @throws LockStoreException if the database failed; no handle was counted
     * @throws InterruptedException if the deadline is interruptible and the thread was interrupted; no handle was counted
     */
    public boolean reenter(LockRequest inner, Deadline deadline) throws InterruptedException {
        Duration atLeast = inner.lease().orElse(null);
        lockWriting(deadline);
        try {
            int open = handles;
            if (open == Integer.MAX_VALUE) {
                throw new IllegalStateException("Lock '" + name() + "' is already held " + open + " times");
            }
            // A request for another kind of hold does not reopen a hold that is about to be released.
            boolean isAnotherKind = open == 0 && !holdTransactions().isUnfinished() && isByLease() && atLeast == null;
            if (expireIfOver() || isAnotherKind) {
                return false;
            }
            lifetime.checkReentry(atLeast);
            if (open == 0) {
                return reopen(inner, deadline);
            }
            holdTransactions().fence(inner);
            int inMemory = handlesInMemory;
            if ((transactions.isUnder(this) && !canProlong()) || transactions.joinIfChecked(this)) {
                handlesInMemory = inMemory + 1;
                return true;
            }
            boolean isCounted = lifetime.reenter(open + 1, atLeast, deadline);
            handles = isCounted ? open + 1 : open;
            return isCounted;
        } catch (StoreException failed) {
            throw new LockStoreException(name(), "was not re-entered", failed);
        } finally {
            writing.unlock();
        }
    }

    /** Another thread may be writing the row, and wait for the database for longer than this caller may wait. */
    private void lockWriting(Deadline deadline) throws InterruptedException {
        if (!deadline.lock(writing)) {
            throw new LockStoreException(name(), "was not re-entered", StoreException.unanswered());
        }
    }

    /**
     * Goes on with the hold for a request that is not nested, while its release waits for the calling thread's transaction. The request
     * would otherwise wait for its own thread. If the release waits for another transaction too, also a suspended one of this thread, the
     * request must wait: it might not see what that transaction commits.
     *
     * @return false if no such release waits, the hold is lost, a share lacks the lease or the node that is requested, or a minimum
     *     hold forbids it: that of the hold is not over, or that of the request would have to be written
     * @throws IllegalStateException if the hold is exclusive and has a lease, and the request has none
     * @throws LockStoreException if the database failed
     * @throws InterruptedException if the deadline is interruptible and the thread was interrupted
     */
    public boolean resume(LockRequest next, Deadline deadline) throws InterruptedException {
        // First without the lock: a thread that writes the release keeps it until the database answers.
        if (!canResume(next)) {
            return false;
        }
        lockWriting(deadline);
        try {
            if (!canResume(next) || expireIfOver()) {
                return false;
            }
            lifetime.checkReentry(next.lease().orElse(null));
            return reopen(next, deadline);
        } catch (StoreException failed) {
            throw new LockStoreException(name(), "was not re-entered", failed);
        } finally {
            writing.unlock();
        }
    }

    private boolean canResume(LockRequest next) {
        boolean isKept = request.minimumHold()
                .filter(least -> heldFor().compareTo(least) < 0)
                .isPresent();
        boolean isTooShort = !isExclusive() && isByLease() && next.lease().isEmpty();
        return !isOpen()
                && transactions.isOnlyUnder(this)
                && !isKept
                && !isTooShort
                && next.minimumHold().isEmpty();
    }

    /** Cancels a deferred release, and reopens the hold; returns false if no release is deferred, or the hold is lost. */
    private boolean reopen(LockRequest inner, Deadline deadline) throws InterruptedException {
        if (!holdTransactions().cancelRelease()) {
            return false;
        }
        holds.resumed(this);
        handles = 1;
        holdTransactions().fence(inner);
        lifetime.resume();
        transactions.join(this);
        boolean isOpen = false;
        try {
            // A lease must last as long as the new request says, unless the write would make the commit fail.
            isOpen = !isByLease()
                    || isOwnerChosen()
                    || (transactions.isUnder(this) && !canProlong())
                    || lifetime.reenter(1, inner.lease().orElse(null), deadline);
        } finally {
            if (!isOpen) {
                ReleaseOutcome unused = releaseHandle();
            }
        }
        if (isOpen && inner.isInterruptedOnLoss()) {
            lifetime.interruptOnLoss(Thread.currentThread());
        }
        return isOpen;
    }

    /** {@inheritDoc} Such a transaction locks the row until it ends, so a write of the row waits for its end. */
    @Override
    public void awaitDecision() {
        if (!holdTransactions().isUndecided()) {
            return;
        }
        writing.lock();
        try {
            holdTransactions().awaitDecision(row);
        } catch (StoreException failed) {
            throw new LockStoreException(name(), "is still in use by a transaction with an unanswered commit", failed);
        } finally {
            writing.unlock();
        }
    }

    @Override
    public void renew(Duration atLeast) {
        TransactionGuard.checkNotLocked(this);
        writing.lock();
        try {
            boolean renewed = isOpen()
                    && !expireIfOver()
                    && lifetime.renew(counted -> isOwnerChosen() ? counted : handles, atLeast);
            if (!renewed) {
                throw lossException();
            }
        } catch (StoreException failed) {
            throw new LockStoreException(name(), "was not renewed", failed);
        } finally {
            writing.unlock();
        }
    }

    /** Makes sure that the hold is valid for this long. Throws what {@link #renew} throws, and also throws if it is valid for less. */
    @Override
    public void ensureValidFor(Duration wanted) {
        if (!expireIfOver() && lifetime.remaining().compareTo(wanted) < 0) {
            Optional<Duration> usual = isByLease() ? request.lease() : Optional.empty();
            renew(usual.map(lease -> Ticker.leaseFor(wanted, lease)).orElse(wanted));
        }
        lifetime.checkRemaining(wanted);
    }

    @Override
    public boolean isOpen() {
        return handles > 0;
    }

    /**
     * Releases a handle, unless it was released before. The last release frees the lock. Never throws because of a loss or a
     * failure of the database. Passes on other exceptions, and frees the lock later.
     */
    @Override
    public ReleaseOutcome release(Handle handle) {
        int open = 0;
        writing.lock();
        try {
            open = handles;
            ReleaseOutcome before = handle.outcome();
            ReleaseOutcome outcome = before == null ? releaseHandle() : before;
            handle.released(outcome);
            if (before == null && isOpen() && acquiredBy() != Thread.currentThread() && holds.isBound(this)) {
                transactions.releasedElsewhere(this);
            }
            return outcome;
        } catch (RuntimeException | Error thrown) {
            if (handles < open) {
                // A second release of this handle would release another one.
                handle.released(ReleaseOutcome.LOST);
            }
            throw thrown;
        } finally {
            writing.unlock();
        }
    }

    @Override
    public LockHandle downgrade(Handle handle) {
        handle.checkNotReleased();
        return downgrader.downgrade(this, handle);
    }

    private static LockHandle refuseDowngrade(LeaseHold hold, Handle handle) {
        hold.holds.checkAccepting();
        throw hold.isLost() ? hold.lossException() : hold.cannotBeDowngraded("it is not held exclusively");
    }

    public IllegalStateException cannotBeDowngraded(String why) {
        return new IllegalStateException("Lock '" + name() + "' cannot be downgraded: " + why);
    }

    /**
     * Releases the only handle, and lets this write a share in place of the release.
     *
     * @param check throws an exception if the hold cannot be downgraded now, and otherwise begins the release
     * @throws IllegalStateException if the hold cannot be downgraded now; nothing has happened then
     * @throws LockLostException if the hold is lost; nothing has happened then
     */
    public void downgrade(Handle handle, Runnable check, Successor share) {
        writing.lock();
        try {
            handle.checkNotReleased();
            // Refuses a transaction of another thread too: it may have read what was before the lock.
            transactions.join(this);
            if (expireIfOver()) {
                throw lossException();
            }
            check.run();
            holdTransactions().decided();
            release.expect(share);
            handles = 0;
            try {
                handle.released(reported(release.free(this, false, this::ended)));
            } catch (RuntimeException | Error thrown) {
                handle.released(ReleaseOutcome.LOST);
                throw thrown;
            }
        } finally {
            writing.unlock();
        }
    }

    private ReleaseOutcome releaseHandle() {
        int open = handles;
        if (open == 0) {
            return ReleaseOutcome.LOST;
        }
        int inMemory = handlesInMemory;
        if (inMemory > 0) {
            handlesInMemory = inMemory - 1;
            return ReleaseOutcome.STILL_HELD;
        }
        if (open > 1 && !isOwnerChosen() && transactions.isUnder(this)) {
            // The next write corrects the count.
            handles = open - 1;
            return ReleaseOutcome.STILL_HELD;
        }
        if (open == 1 && deferRelease()) {
            return ReleaseOutcome.DEFERRED;
        }
        boolean wasLost = expireIfOver();
        handles = open - 1;
        return open == 1
                ? reported(release.free(this, wasLost, this::ended))
                : release.giveBack(this, open - 1, wasLost);
    }

    /** Defers the release until the transactions under the hold have ended; returns false if the lock must be freed now. */
    private boolean deferRelease() {
        transactions.joinForRelease(this);
        // Even a lost lock stays while transactions may still check whether it was granted to others.
        if (expireIfOver() && !holdTransactions().willBeChecked()) {
            holdTransactions().forceRelease();
            return false;
        }
        if (holdTransactions().beginRelease()) {
            return false;
        }
        handles = 0;
        lifetime.end();
        holds.defer(this);
        listeners.tell(listener -> listener.deferred(name(), fencingToken()));
        return true;
    }

    /** Frees the lock, even if several handles are open. Their own releases then return {@link ReleaseOutcome#LOST}. */
    public ReleaseOutcome releaseAll() {
        writing.lock();
        try {
            if (handles == 0 && !holdTransactions().cancelRelease()) {
                return ReleaseOutcome.LOST;
            }
            holdTransactions().forceRelease();
            handles = 0;
            return reported(release.free(this, false, this::ended));
        } finally {
            writing.unlock();
        }
    }

    /**
     * Frees the lock because the service is closed. Its handles stay, and are lost, so that no transaction under them commits. Never
     * throws, because the caller must free other locks too. {@link ReleaseOutcome#UNRESOLVED} if the database does not answer.
     */
    public ReleaseOutcome freeOnClose() {
        writing.lock();
        try {
            return release.freeOnClose();
        } finally {
            writing.unlock();
        }
    }

    /** Notes that a transaction has ended. Its connection may still be in use, so another thread does a deferred release. */
    @Override
    public void completed(TransactionScope scope, boolean committedUnderGuard) {
        if (holdTransactions().end(scope, committedUnderGuard)) {
            access.inDoubtWrites().release(new DueRelease(name(), this::releaseAfterTransactions));
        }
    }

    /** Does a deferred release after the end of the transactions, unless the lock was acquired again. */
    private void releaseAfterTransactions() {
        writing.lock();
        try {
            if (holdTransactions().takeRelease()) {
                ReleaseOutcome unused = reported(release.free(this, isLost(), this::ended));
            }
        } finally {
            writing.unlock();
        }
    }

    private void ended() {
        holds.remove(this);
    }

    private ReleaseOutcome reported(ReleaseOutcome outcome) {
        Duration heldFor = heldFor();
        listeners.tell(listener -> listener.released(name(), fencingToken(), heldFor, outcome));
        return outcome;
    }
}
