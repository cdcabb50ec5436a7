package io.github.holdfast.service.engine;

import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.StoreException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Ends the grant of a hold: another grant takes its place, or the row is freed. The hold calls it while it blocks other writes; any thread may
 * register as waiting.
 */
final class GrantRelease {

    private final LockAccess access;
    private final HoldRow row;
    private final Lifetime lifetime;
    private final HoldTransactions transactions;
    private final LockRequest request;
    private final @Nullable HandOff handOff;
    private final Runnable whenEnded;

    /**
     * The release of a hold that was just granted for this request.
     *
     * @param handOff chooses the thread that gets the lock next; null for a share, which no thread waits for in particular
     * @param whenEnded called when the grant has ended, or has been abandoned
     */
    GrantRelease(
            LockAccess access,
            HoldRow row,
            Lifetime lifetime,
            HoldTransactions transactions,
            LockRequest request,
            @Nullable HandOff handOff,
            Runnable whenEnded) {
        this.access = access;
        this.row = row;
        this.lifetime = lifetime;
        this.transactions = transactions;
        this.request = request;
        this.handOff = handOff;
        this.whenEnded = whenEnded;
    }

    /** Whether the release has begun. It chooses only a thread that registered before. */
    boolean hasBegun() {
        return handOff != null && handOff.hasBegun();
    }

    /** Registers the calling thread as the next owner's. Only the first thread in the queue calls this. */
    void expect(HandOffWaiter next) {
        ofLock().expect(next);
    }

    /** Registers what the release writes in its place. No thread in the queue gets the lock then. */
    void expect(Successor next) {
        ofLock().expect(next);
    }

    private HandOff ofLock() {
        if (handOff == null) {
            throw new IllegalStateException("The release of a share grants nothing");
        }
        return handOff;
    }

    /**
     * Frees the lock. After any exception, abandons the row: the hold is over, and nothing else would settle the row.
     *
     * @param wasLost whether the hold was known to be lost before
     */
    ReleaseOutcome free(boolean wasLost) {
        try {
            lifetime.end();
            Optional<ReleaseOutcome> handedOff = handOff == null ? Optional.empty() : begin(handOff, wasLost);
            ReleaseOutcome outcome = handedOff.isPresent() ? handedOff.get() : giveBack(0, wasLost);
            if (handOff != null && handedOff.isEmpty() && outcome == ReleaseOutcome.RELEASED && row.isReleased()) {
                handOff.released();
            }
            // Not earlier: otherwise, the hold's thread would find neither this hold nor a free lock.
            whenEnded.run();
            if (handedOff.isEmpty()) {
                access.lockReleased(row.name());
            }
            return outcome;
        } catch (RuntimeException | Error thrown) {
            try {
                row.abandon();
            } finally {
                whenEnded.run();
            }
            throw thrown;
        }
    }

    private Optional<ReleaseOutcome> begin(HandOff next, boolean wasLost) {
        if (!wasLost && canBeHandedOff()) {
            return next.begin();
        }
        next.beginWithoutNext();
        return Optional.empty();
    }

    /** Whether a hand-off is allowed. A chosen owner, an undecided commit and a minimum hold need a free row first. */
    private boolean canBeHandedOff() {
        return request.owner().isEmpty()
                && !transactions.isUndecided()
                && request.minimumHold().isEmpty();
    }

    /**
     * Writes the release of one handle, unless the closing service has already freed the row.
     *
     * @param left how many handles are left
     * @param wasLost whether the hold was known to be lost before
     */
    ReleaseOutcome giveBack(int left, boolean wasLost) {
        if (row.isReleased()) {
            return ReleaseOutcome.LOST;
        }
        ReleaseOutcome outcome = left == 0 && handOff == null ? endShare() : row.giveBack(left);
        if (outcome == ReleaseOutcome.LOST && !wasLost) {
            lifetime.loseToDatabase();
        }
        return wasLost ? ReleaseOutcome.LOST : outcome;
    }

    /** Waits for unanswered commits first: the end of a share that others have joined writes no row, so it would not wait for them. */
    private ReleaseOutcome endShare() {
        try {
            transactions.awaitDecision(row);
        } catch (StoreException failed) {
            row.abandon();
            return ReleaseOutcome.UNRESOLVED;
        }
        return row.giveBack(0);
    }

    /** Frees the lock because the service is closed. Never throws, because the caller must free other locks too. */
    ReleaseOutcome freeOnClose() {
        try {
            if (handOff != null) {
                handOff.beginWithoutNext();
            }
            return row.isReleased() ? ReleaseOutcome.LOST : row.giveBack(0);
        } catch (RuntimeException | Error thrown) {
            LockLog.notReleasedOnClose(row.name(), thrown);
            row.abandon();
            return ReleaseOutcome.LOST;
        }
    }
}
