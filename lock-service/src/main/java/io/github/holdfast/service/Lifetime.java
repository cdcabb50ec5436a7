package io.github.holdfast.service;

import io.github.holdfast.repository.StoreException;
import java.time.Duration;

/**
 * From a grant to its release or loss: how long it is valid by the local clock, and what is told of it. Any thread may look;
 * what it is told is final.
 */
final class Lifetime {

    private final Internals internals;
    private final Validity validity;
    private final Loss loss;
    private final HeldRow row;
    private final Runnable whenLost;
    private final long reconciliations;
    private volatile boolean isEnded;

    /**
     * The lifetime of what was just granted.
     *
     * @param row the row as it was written
     * @param whenLost what else is to be done when it is lost; quick
     */
    Lifetime(Internals internals, Attempt.Granted granted, HeldRow row, Runnable whenLost) {
        this.internals = internals;
        this.row = row;
        this.whenLost = whenLost;
        this.reconciliations = granted.reconciliations();
        this.loss = new Loss(granted.grant(), internals.events());
        Node node = granted.node();
        this.validity = node == null
                ? new LeaseValidity(internals.ticker(), granted.validFrom(), granted.validFor())
                : new NodeValidity(internals.heartbeat(), node, granted.validFrom(), granted.validFor());
    }

    Validity validity() {
        return validity;
    }

    Loss loss() {
        return loss;
    }

    /** How long it is valid still, by the local clock; zero if it is lost. */
    Duration remaining() {
        long left = validity.left(internals.ticker().nanoTime());
        if (left <= 0) {
            lose(validity.cause());
        }
        return loss.isKnown() || left <= 0 ? Duration.ZERO : Duration.ofNanos(left);
    }

    /** Whether it is lost, which is final: a renewal that was on its way cannot bring it back. */
    boolean isLost() {
        return remaining().isZero();
    }

    LockState state() {
        boolean isOverdue = validity.untilSuspect(internals.ticker().nanoTime()) <= 0;
        if (isLost()) {
            return LockState.LOST;
        }
        return isOverdue ? LockState.SUSPECT : LockState.HELD;
    }

    /**
     * Looks whether it is suspect or lost by now, and has it told.
     *
     * @return after how many nanoseconds it is to be looked at again
     */
    long look() {
        if (isLost()) {
            return Long.MAX_VALUE;
        }
        long now = internals.ticker().nanoTime();
        long untilSuspect = validity.untilSuspect(now);
        loss.suspect(untilSuspect <= 0);
        return Math.min(untilSuspect <= 0 ? Long.MAX_VALUE : untilSuspect, Math.max(validity.left(now), 1));
    }

    /** Has it told that it is lost, unless its last handle is being released: the outcome of that tells. */
    void lose(LossCause cause) {
        if (!isEnded) {
            tell(cause);
        }
    }

    private void tell(LossCause cause) {
        if (loss.tell(cause)) {
            whenLost.run();
        }
    }

    /** Has it told that it is lost, because a write found that the row is no longer this grant's. */
    void loseToDatabase() {
        try {
            tell(row.whyGone().orElse(LossCause.EXPIRED));
        } catch (StoreException failed) {
            tell(LossCause.TAKEN_OVER);
        }
    }

    /**
     * Whether it goes on after its row was written, or could not be: whoever was told meanwhile that it is lost must not be
     * contradicted.
     */
    boolean goesOnAfter(boolean written) {
        if (!written && !isLost()) {
            loseToDatabase();
        }
        if (written && isLost()) {
            row.abandon();
        }
        return written && !isLost();
    }

    /** What to throw in a transaction whose guard found that the row is no longer this grant's. */
    LockLostException lostInTransaction() {
        tell(isLost() ? validity.cause() : LossCause.TAKEN_OVER);
        return loss.exception();
    }

    /**
     * Asks the database whether this is still the lock's grant, and has it told if not.
     *
     * @throws StoreException if the database failed
     */
    void recheck() {
        if (!isEnded && !isLost()) {
            row.whyGone().ifPresent(this::lose);
            confirm();
        }
    }

    /** Asks the database how long the lease lasts, until it answers, and has it told if it is over. */
    void recheckLease() {
        try {
            if (!isEnded && !isLost() && !validity.correct(row::left)) {
                row.whyGone().ifPresent(this::lose);
            }
            // Tells, if it is so now.
            boolean unused = isLost();
        } catch (StoreException failed) {
            internals.settler().later(this::recheckLease);
        }
    }

    /** The row was seen to show this grant after a reconciliation could see this. */
    void confirm() {
        validity.confirm(internals.ticker().nanoTime());
    }

    /**
     * From now on every reconciliation sees this. One that was under way since the grant was sent may have missed it, and what
     * ended the grant meanwhile: then it looks for itself, and is not confirmed before the database has answered.
     */
    void confirmOnceKept() {
        if (internals.heartbeat().reconciliations() == reconciliations) {
            confirm();
            return;
        }
        recheckUntilAnswered();
    }

    private void recheckUntilAnswered() {
        try {
            recheck();
        } catch (StoreException failed) {
            if (!isEnded && !isLost()) {
                internals.settler().later(this::recheckUntilAnswered);
            }
        }
    }

    /** Its last handle is being released: nobody is interrupted, nor told that it is over. */
    void end() {
        isEnded = true;
        loss.spare();
    }

    /** The release was taken back. */
    void goOn() {
        isEnded = false;
    }
}
