package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.StoreException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * One grant of a lock, shared by the handles of its nested acquisitions: the row as it was last written, the writes that
 * change it, one at a time, and how long it is valid by the local clock. Thread-safe.
 */
final class Hold {

    private final Internals internals;
    private final LockRequest request;
    private final Grant grant;
    private final @Nullable Node node;
    private final boolean isFirst;
    private final boolean ownerIsChosen;
    private final Lifetime lifetime;
    private final Succession succession;
    private final Coverage coverage = new Coverage();
    private final long acquiredAt;
    private volatile @Nullable Thread acquiredBy;
    private final HandleAnchor anchor = new HandleAnchor();
    private volatile boolean isToBeFenced;

    private final ReentrantLock writing = new ReentrantLock();
    private final HeldRow row;

    private final OpenHandles handles = new OpenHandles();

    /**
     * A hold that was just granted.
     *
     * @param request what it was granted for
     * @param granted the row as it was written, with an owner
     */
    Hold(Internals internals, LockRequest request, Attempt.Granted granted) {
        LockEntity written = granted.row();
        this.internals = internals;
        this.request = request;
        this.grant = Grant.of(written);
        this.node = granted.node();
        this.isFirst = granted.isFirst();
        this.ownerIsChosen = request.owner().isPresent();
        this.isToBeFenced = request.fence() != LockRequest.Fence.NONE;
        this.row = new HeldRow(internals, written, ownerIsChosen);
        this.succession = new Succession(internals, granted);
        this.acquiredAt = internals.ticker().nanoTime();
        this.lifetime =
                new Lifetime(internals, granted, row, () -> internals.held().unbind(this));
    }

    Grant grant() {
        return grant;
    }

    String name() {
        return grant.name();
    }

    String owner() {
        return row.owner();
    }

    int holdCount() {
        return (ownerIsChosen ? row.current().holdCount() : handles.counted()) + handles.inMemory();
    }

    boolean isByLease() {
        return node == null;
    }

    /** Whether nobody was granted the lock before, as far as its row tells. */
    boolean isFirst() {
        return isFirst;
    }

    /** Whether the owner was given by the user, so that other processes may hold the lock in the same name. */
    boolean isOwnerChosen() {
        return ownerIsChosen;
    }

    /** Whether it is neither lost nor being given back. */
    boolean isHeld() {
        return !succession.hasBegun() && !lifetime.isLost();
    }

    /** The calling thread waits to have the lock after this hold. */
    void expect(Heir next) {
        succession.expect(next);
    }

    boolean isThrough(Node other) {
        return node == other;
    }

    void acquiredBy(Thread thread) {
        acquiredBy = thread;
    }

    @Nullable
    Thread acquiredBy() {
        return acquiredBy;
    }

    /** A handle for this hold. */
    LockHandle handle() {
        return new LockHandle(new LeaseHolding(this, internals, anchor.get()));
    }

    /** Whether nobody can release it any more: its handles were forgotten, and are garbage. */
    boolean isForgotten() {
        return anchor.isGarbage();
    }

    Coverage coverage() {
        return coverage;
    }

    /** Whether transactions that run under it commit only while it stands. */
    boolean isToBeFenced() {
        return isToBeFenced;
    }

    /** How long it lasts, and whether it is lost. */
    Lifetime lifetime() {
        return lifetime;
    }

    /**
     * Counts one more handle, in the database too.
     *
     * @param inner the nested request
     * @return false if the hold is lost
     * @throws IllegalStateException if a lock held by a lease is entered without one
     * @throws LockStoreException if the database failed; no handle was counted
     * @throws InterruptedException if the patience is interruptible and the thread was interrupted; no handle was counted
     */
    boolean reenter(LockRequest inner, Patience patience) throws InterruptedException {
        @Nullable Duration atLeast = inner.lease().orElse(null);
        awaitTurnToWrite(patience);
        try {
            int open = handles.counted();
            if (open == Integer.MAX_VALUE) {
                throw new IllegalStateException("Lock '" + name() + "' is already held " + open + " times");
            }
            if (lifetime.isLost()) {
                return false;
            }
            if (open == 0 && !coverage.isUnfinished() && isByLease() && atLeast == null) {
                // It is about to be released, and what is wanted now is another kind of hold.
                return false;
            }
            lifetime.validity().checkReentry(name(), atLeast);
            if (open == 0) {
                return isReopened(inner, patience);
            }
            isToBeFenced |= inner.fence() != LockRequest.Fence.NONE;
            if (internals.transactions().isUnder(this)) {
                handles.countInMemory(handles.inMemory() + 1);
                return true;
            }
            if (!isWrittenFor(open + 1, atLeast, patience)) {
                return false;
            }
            handles.count(open + 1);
            return true;
        } catch (StoreException failed) {
            throw new LockStoreException(name(), "was not re-entered", failed);
        } finally {
            writing.unlock();
        }
    }

    /** Whoever writes the row now may wait for the database for longer than this caller wants to. */
    private void awaitTurnToWrite(Patience patience) throws InterruptedException {
        if (!patience.lock(writing)) {
            throw new LockStoreException(name(), "was not re-entered", StoreException.unanswered());
        }
    }

    private boolean isWrittenFor(int entered, @Nullable Duration atLeast, Patience patience)
            throws InterruptedException {
        return lifetime.goesOnAfter(
                lifetime.validity().reenter(row, current -> current.heldTimes(entered), atLeast, patience));
    }

    /** Takes back a release that waits for a transaction; returns false if there is none. */
    private boolean isReopened(LockRequest inner, Patience patience) throws InterruptedException {
        if (!coverage.cancelRelease()) {
            return false;
        }
        handles.count(1);
        isToBeFenced |= inner.fence() != LockRequest.Fence.NONE;
        lifetime.goOn();
        internals.transactions().join(this);
        boolean isOpen = false;
        try {
            // A lease is to last as long as the new request says, unless a write would doom the transaction's commit.
            isOpen = !isByLease()
                    || internals.transactions().isUnder(this)
                    || isWrittenFor(1, inner.lease().orElse(null), patience);
        } finally {
            if (!isOpen) {
                ReleaseOutcome unused = end().release();
            }
        }
        if (isOpen && request.isInterruptedOnLoss()) {
            lifetime.loss().interrupt(Thread.currentThread());
        }
        return isOpen;
    }

    /**
     * Waits until no transaction that ran under the hold can commit any more without an answer: each has the row locked
     * until it ends, and a write of the row gets through only after it.
     *
     * @throws LockStoreException if it does not get through in time
     */
    void awaitDecision() {
        if (!coverage.isUndecided()) {
            return;
        }
        writing.lock();
        try {
            if (row.current().owner() != null) {
                row.touch(internals.ticker());
            }
            coverage.decided();
        } catch (StoreException failed) {
            throw new LockStoreException(
                    name(), "is still relied on by a transaction whose commit was not answered", failed);
        } finally {
            writing.unlock();
        }
    }

    /** What makes it last. */
    Renewal renewal() {
        return new Renewal(internals, this, row, writing);
    }

    boolean isOpen() {
        return handles.counted() > 0;
    }

    /** The lease that was asked for; a lock that lives as long as its node has none. */
    Optional<Duration> lease() {
        return isByLease() ? request.lease() : Optional.empty();
    }

    /** The row as it is to be after a write that changes no count. */
    LockEntity sameTimesHeld(LockEntity current) {
        return current.heldTimes(ownerIsChosen ? current.holdCount() : handles.counted());
    }

    /** What gives it back. */
    HoldEnd end() {
        return new HoldEnd(internals, this, row, handles, succession, writing);
    }

    Duration heldFor() {
        return Duration.ofNanos(internals.ticker().nanoTime() - acquiredAt);
    }

    /** Whether the lock may be granted to the next thread in place of being given back: nothing is open that only the free row settles. */
    boolean canBePassedOn() {
        return !ownerIsChosen
                && !coverage.isUndecided()
                && request.minimumHold().isEmpty();
    }
}
