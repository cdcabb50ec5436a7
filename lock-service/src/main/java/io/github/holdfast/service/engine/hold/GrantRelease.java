package io.github.holdfast.service.engine.hold;

import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.service.engine.row.HoldRow;
import io.github.holdfast.service.engine.row.LockAccess;
import io.github.holdfast.service.engine.row.LockRow.Successor;
import io.github.holdfast.service.engine.runtime.LockLog;
import java.util.Optional;

/**
 * Ends the grant of a hold. This is the release of a share, which no thread waits for in particular. The hold calls it while it blocks other
 * writes; any thread may register as waiting.
 */
public class GrantRelease {

    private final LockAccess access;
    private final HoldRow row;

    /** The release of the grant that this row shows. */
    public GrantRelease(LockAccess access, HoldRow row) {
        this.access = access;
        this.row = row;
    }

    /** Whether the release has begun. It chooses only a thread that registered before. */
    boolean hasBegun() {
        return false;
    }

    /** Registers the calling thread as the next owner's. Only the first thread in the queue calls this. */
    void expect(HandOffWaiter next) {
        throw new IllegalStateException("The release of a share grants nothing");
    }

    /** Registers what the release writes in its place. No thread in the queue gets the lock then. */
    void expect(Successor next) {
        throw new IllegalStateException("The release of a share grants nothing");
    }

    /**
     * Begins the release of the hold, and grants the lock to the thread that waits for it, if there is one. Otherwise keeps the row, if that is
     * allowed.
     *
     * @return the outcome; empty if the caller must release the row, because no thread waits here, others are to get the lock, or the grant
     *     was not written
     */
    Optional<ReleaseOutcome> begin(GrantedHold hold) {
        return Optional.empty();
    }

    /**
     * Begins a release without a hand-off: the first attempt gets the lock. If the lock is released for others, the threads in the queue
     * must know that before they attempt.
     */
    void beginWithoutNext() {}

    /** Notes that the row was released. */
    void released() {}

    /**
     * Waits until the grant may end. The end of a share that others have joined writes no row, so unanswered commits are awaited first.
     *
     * @return false if the database did not answer; the row is abandoned then
     */
    boolean awaitEnd(GrantedHold hold) {
        try {
            hold.holdTransactions().awaitDecision(row);
            return true;
        } catch (StoreException failed) {
            row.abandon();
            return false;
        }
    }

    /**
     * Frees the lock. After any exception, abandons the row: the hold has ended, and nothing else would settle the row.
     *
     * @param wasLost whether the hold was known to be lost before
     * @param whenEnded called when the grant has ended, or has been abandoned
     */
    final ReleaseOutcome free(GrantedHold hold, boolean wasLost, Runnable whenEnded) {
        Optional<ReleaseOutcome> handedOff = Optional.empty();
        try {
            hold.lifetime().end();
            if (wasLost || !canBeHandedOff(hold)) {
                beginWithoutNext();
            } else {
                handedOff = begin(hold);
            }
            ReleaseOutcome outcome = handedOff.isPresent() ? handedOff.get() : giveBack(hold, 0, wasLost);
            if (handedOff.isEmpty() && outcome == ReleaseOutcome.RELEASED && row.isReleased()) {
                released();
            }
            // Not earlier: otherwise, the hold's thread would find neither this hold nor a free lock.
            whenEnded.run();
            if (handedOff.isEmpty() || outcome == ReleaseOutcome.KEPT) {
                access.lockReleased(row.name());
            }
            return outcome;
        } catch (RuntimeException | Error thrown) {
            try {
                if (!handedOff.equals(Optional.of(ReleaseOutcome.KEPT))) {
                    row.abandon();
                }
            } finally {
                whenEnded.run();
            }
            throw thrown;
        }
    }

    /** Whether a hand-off is allowed. A chosen owner, an undecided commit and a minimum hold need a free row first. */
    private static boolean canBeHandedOff(GrantedHold hold) {
        return !hold.isOwnerChosen()
                && !hold.holdTransactions().isUndecided()
                && hold.request().minimumHold().isEmpty();
    }

    /**
     * Writes the release of one handle, unless the closing service has already freed the row.
     *
     * @param left how many handles are left
     * @param wasLost whether the hold was known to be lost before
     */
    final ReleaseOutcome giveBack(GrantedHold hold, int left, boolean wasLost) {
        if (row.isReleased()) {
            return ReleaseOutcome.LOST;
        }
        ReleaseOutcome outcome = left > 0 || awaitEnd(hold) ? row.giveBack(left) : ReleaseOutcome.UNRESOLVED;
        if (outcome == ReleaseOutcome.LOST && !wasLost) {
            hold.lifetime().loseToDatabase();
        }
        return wasLost ? ReleaseOutcome.LOST : outcome;
    }

    /** Frees the lock because the service is closed. Never throws, because the caller must free other locks too. */
    final ReleaseOutcome freeOnClose() {
        try {
            beginWithoutNext();
            return row.isReleased() ? ReleaseOutcome.LOST : row.giveBack(0);
        } catch (RuntimeException | Error thrown) {
            LockLog.notReleasedOnClose(row.name(), thrown);
            row.abandon();
            return ReleaseOutcome.LOST;
        }
    }
}
