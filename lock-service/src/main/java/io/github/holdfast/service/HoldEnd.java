package io.github.holdfast.service;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Gives a hold back, one handle after another; the last one frees the lock, or grants it to the next thread. Thread-safe. */
final class HoldEnd {

    private static final Logger LOG = LoggerFactory.getLogger(HoldEnd.class);

    private final Internals internals;
    private final Hold hold;
    private final HeldRow row;
    private final OpenHandles handles;
    private final Succession succession;
    private final ReentrantLock writing;

    /**
     * The end of a hold.
     *
     * @param row its row
     * @param writing held by whoever writes the row
     */
    HoldEnd(
            Internals internals,
            Hold hold,
            HeldRow row,
            OpenHandles handles,
            Succession succession,
            ReentrantLock writing) {
        this.internals = internals;
        this.hold = hold;
        this.row = row;
        this.handles = handles;
        this.succession = succession;
        this.writing = writing;
    }

    /**
     * Gives one handle's hold back; the last one frees the lock. Never throws for a loss, nor because the database
     * failed. Whatever a driver throws else is thrown on, and the lock is freed later.
     */
    ReleaseOutcome release() {
        writing.lock();
        try {
            int open = handles.counted();
            if (open == 0) {
                return ReleaseOutcome.LOST;
            }
            if (handles.inMemory() > 0) {
                handles.countInMemory(handles.inMemory() - 1);
                return ReleaseOutcome.STILL_HELD;
            }
            if (open > 1 && !hold.isOwnerChosen() && internals.transactions().isUnder(hold)) {
                // The next write corrects the count.
                handles.count(open - 1);
                return ReleaseOutcome.STILL_HELD;
            }
            if (open == 1 && isPutOff()) {
                return ReleaseOutcome.DEFERRED;
            }
            boolean wasLost = hold.lifetime().isLost();
            handles.count(open - 1);
            return open == 1 ? free(wasLost) : givenBack(open - 1, wasLost);
        } finally {
            writing.unlock();
        }
    }

    /** Puts the last handle's release off until transactions have ended, and tells whether there is any to wait for. */
    private boolean isPutOff() {
        Transactions transactions = internals.transactions();
        Coverage coverage = hold.coverage();
        transactions.joinForRelease(hold);
        // A lost lock stays until those have ended that find out whether anybody was granted it since.
        boolean isForced = hold.lifetime().isLost() && !(hold.isToBeFenced() && coverage.willBeChecked());
        if (isForced) {
            coverage.forceRelease();
            return false;
        }
        if (coverage.beginRelease()) {
            return false;
        }
        handles.count(0);
        hold.lifetime().end();
        transactions.deferred(hold);
        internals
                .events()
                .tell(listener -> listener.deferred(hold.name(), hold.grant().fencingToken()));
        return true;
    }

    /** Frees the lock, however many handles are open; their own releases answer that it is lost. */
    ReleaseOutcome releaseAll() {
        writing.lock();
        try {
            if (handles.counted() == 0 && !hold.coverage().cancelRelease()) {
                return ReleaseOutcome.LOST;
            }
            hold.coverage().forceRelease();
            handles.count(0);
            return free(false);
        } finally {
            writing.unlock();
        }
    }

    /**
     * Frees the lock because the service is closed. Its handles stay, and are lost: a transaction that has begun under them, or begins,
     * must not commit. Never throws: others are to be freed after it.
     *
     * @return {@link ReleaseOutcome#UNRESOLVED} if the database does not answer
     */
    ReleaseOutcome freeOnClose() {
        writing.lock();
        try {
            succession.begin();
            return row.isFree() ? ReleaseOutcome.LOST : row.giveBack(0, internals.ticker());
        } catch (RuntimeException | Error thrown) {
            LogEvent.INTERNAL_FAILED
                    .of(hold.name(), LOG.atWarn())
                    .setCause(thrown)
                    .log("Lock '{}' was not released when the lock service was closed", hold.name());
            row.abandon();
            return ReleaseOutcome.LOST;
        } finally {
            writing.unlock();
        }
    }

    /** A transaction that ran under the hold has ended. */
    void completed(TransactionScope scope, boolean committedUnderGuard) {
        if (hold.coverage().end(scope, committedUnderGuard)) {
            // The caller's connection is still in use; waiting here for another one could wait for ever.
            internals.settler().release(this::releaseAfterTransactions);
        }
    }

    /** Does the release that waited for transactions to end, unless the lock was acquired again meanwhile. */
    private void releaseAfterTransactions() {
        writing.lock();
        try {
            if (hold.coverage().takeRelease()) {
                ReleaseOutcome unused = free(hold.lifetime().isLost());
            }
        } finally {
            writing.unlock();
        }
    }

    /** Whatever is thrown, nobody would look after the row again: the hold is over. */
    private ReleaseOutcome free(boolean wasLost) {
        try {
            return freed(wasLost);
        } catch (RuntimeException | Error thrown) {
            try {
                row.abandon();
            } finally {
                internals.held().remove(hold);
            }
            throw thrown;
        }
    }

    private ReleaseOutcome freed(boolean wasLost) {
        hold.lifetime().end();
        Optional<ReleaseOutcome> passedOn = passedOn(wasLost);
        boolean isPassedOn = passedOn.isPresent();
        ReleaseOutcome outcome = isPassedOn ? passedOn.get() : givenBack(0, wasLost);
        if (!isPassedOn && outcome == ReleaseOutcome.RELEASED && row.isFree()) {
            succession.leave(row.current());
        }
        // Not before: its thread would find neither this hold nor the lock free.
        internals.held().remove(hold);
        if (!isPassedOn) {
            internals.givenBack(hold.name());
        }
        Duration heldFor = hold.heldFor();
        internals
                .events()
                .tell(listener -> listener.released(hold.name(), hold.grant().fencingToken(), heldFor, outcome));
        return outcome;
    }

    private Optional<ReleaseOutcome> passedOn(boolean wasLost) {
        if (wasLost || !hold.canBePassedOn()) {
            succession.begin();
            return Optional.empty();
        }
        return succession.passOn(row);
    }

    /** The row is free already if the service was closed meanwhile. */
    private ReleaseOutcome givenBack(int left, boolean wasLost) {
        return row.isFree() ? ReleaseOutcome.LOST : told(row.giveBack(left, internals.ticker()), wasLost);
    }

    private ReleaseOutcome told(ReleaseOutcome outcome, boolean wasLost) {
        if (outcome == ReleaseOutcome.LOST && !wasLost) {
            hold.lifetime().loseToDatabase();
        }
        return wasLost ? ReleaseOutcome.LOST : outcome;
    }
}
