package io.github.holdfast.service;

import io.github.holdfast.repository.StoreException;
import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;

/** Makes a hold last, when a holder asks for it. Thread-safe. */
final class Renewal {

    private final Internals internals;
    private final Hold hold;
    private final HeldRow row;
    private final ReentrantLock writing;

    /**
     * The renewal of a hold.
     *
     * @param row its row
     * @param writing held by whoever writes the row
     */
    Renewal(Internals internals, Hold hold, HeldRow row, ReentrantLock writing) {
        this.internals = internals;
        this.hold = hold;
        this.row = row;
        this.writing = writing;
    }

    /**
     * Lets the hold be valid at least this long from now.
     *
     * @throws IllegalArgumentException if it lives as long as a node whose lease is shorter
     * @throws IllegalStateException if a transaction of this thread has locked the row that is to be written
     * @throws LockLostException if the hold is lost
     * @throws LockStoreException if the database failed; it ends when it would have
     */
    void renew(Duration atLeast) {
        Transactions.checkNotLocked(hold);
        Lifetime lifetime = hold.lifetime();
        writing.lock();
        try {
            boolean renewed = hold.isOpen()
                    && !lifetime.isLost()
                    && Patience.uninterruptibly(
                            internals.ticker(),
                            HeldRow.WRITE_LIMIT,
                            patience -> lifetime.goesOnAfter(
                                    lifetime.validity().renew(row, hold::sameTimesHeld, atLeast, patience)));
            if (!renewed) {
                throw lifetime.loss().exception();
            }
        } catch (StoreException failed) {
            throw new LockStoreException(hold.name(), "was not renewed", failed);
        } finally {
            writing.unlock();
        }
    }

    /**
     * Makes sure that the hold is valid for this long, and renews it if need be.
     *
     * @throws LockLostException if it is lost, or shorter although it was renewed
     * @see #renew for what else is thrown
     */
    void ensureValidFor(Duration wanted) {
        Lifetime lifetime = hold.lifetime();
        if (!lifetime.isLost() && lifetime.remaining().compareTo(wanted) < 0) {
            renew(hold.lease().map(usual -> Drift.leaseFor(wanted, usual)).orElse(wanted));
        }
        Duration left = lifetime.remaining();
        if (left.isZero()) {
            throw lifetime.loss().exception();
        }
        if (left.compareTo(wanted) < 0) {
            throw new LockLostException(hold.name(), LossCause.EXPIRED, "only " + left + " of its validity is left");
        }
    }
}
