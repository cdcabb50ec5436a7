package io.github.holdfast.service.engine;

import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.repository.StoreException;
import java.time.Duration;
import java.util.Optional;
import java.util.function.IntUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The lifetime of a hold, from its grant to its release or loss. It says how long the hold is valid by the local clock, and
 * reports the loss. Any thread may read it. A reported loss is final.
 */
final class Lifetime {

    private final Heartbeat heartbeat;
    private final InDoubtWrites inDoubtWrites;
    private final Ticker ticker;
    private final Expiry validity;
    private final LossNotifier loss;
    private final HoldRow row;
    private final Runnable whenLost;
    private final long reconciliations;
    private volatile boolean isEnded;

    /**
     * The lifetime of a new grant.
     *
     * @param row the row as it was written
     * @param whenLost an additional action when the hold is lost; returns quickly
     */
    Lifetime(
            LockAccess access,
            Heartbeat heartbeat,
            ListenerDispatcher listeners,
            AttemptResult.Success granted,
            HoldRow row,
            Runnable whenLost) {
        this.heartbeat = heartbeat;
        this.inDoubtWrites = access.inDoubtWrites();
        this.ticker = access.ticker();
        this.row = row;
        this.whenLost = whenLost;
        this.reconciliations = granted.term().reconciliations();
        this.loss = new LossNotifier(granted.grant(), listeners);
        this.validity = expiry(granted.term());
    }

    private Expiry expiry(GrantTerm term) {
        Node node = term.node();
        return node == null
                ? new LeaseExpiry(ticker, term.validFrom(), term.validFor())
                : new NodeExpiry(heartbeat, node, term.validFrom(), term.validFor());
    }

    /**
     * Checks whether a nested request may enter the hold.
     *
     * @param atLeast the requested lease; null if there is none
     * @throws IllegalStateException if it may not
     */
    void checkReentry(@Nullable Duration atLeast) {
        validity.checkReentry(row.name(), atLeast);
    }

    LossNotifier loss() {
        return loss;
    }

    /** How long the hold is still valid, by the local clock; zero if it is lost. */
    Duration remaining() {
        long left = validity.left(ticker.nanoTime());
        if (left <= 0) {
            lose(validity.cause());
        }
        return loss.isKnown() || left <= 0 ? Duration.ZERO : Duration.ofNanos(left);
    }

    /** Whether its lease, or its node's lease, is over by the local clock. */
    boolean isOver() {
        return validity.left(ticker.nanoTime()) <= 0;
    }

    /**
     * Checks that the hold is valid for this long.
     *
     * @throws LockLostException if it is lost, or valid for less
     */
    void checkRemaining(Duration wanted) {
        Duration left = remaining();
        if (left.isZero()) {
            throw loss.exception();
        }
        if (left.compareTo(wanted) < 0) {
            throw new LockLostException(row.name(), LossCause.EXPIRED, "it is valid only for another " + left);
        }
    }

    /** Whether the hold is lost. A loss is final: a renewal under way cannot undo it. */
    boolean isLost() {
        return remaining().isZero();
    }

    LockState state() {
        boolean isOverdue = validity.untilSuspect(ticker.nanoTime()) <= 0;
        if (isLost()) {
            return LockState.LOST;
        }
        return isOverdue ? LockState.SUSPECT : LockState.HELD;
    }

    /**
     * Checks whether the hold is suspect or lost, and reports that.
     *
     * @return the nanoseconds until the next check
     */
    long look() {
        if (isLost()) {
            return Long.MAX_VALUE;
        }
        long now = ticker.nanoTime();
        long untilSuspect = validity.untilSuspect(now);
        loss.suspect(untilSuspect <= 0);
        return Math.min(untilSuspect <= 0 ? Long.MAX_VALUE : untilSuspect, Math.max(validity.left(now), 1));
    }

    /** Reports the loss of the hold. Reports nothing during the last release, because its outcome shows the loss. */
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

    /** Reports the loss of the hold after a write, because the row no longer shows this grant. */
    void loseToDatabase() {
        try {
            tell(row.lossCause().orElse(LossCause.EXPIRED));
        } catch (StoreException failed) {
            tell(LossCause.TAKEN_OVER);
        }
    }

    /**
     * Writes the new hold count to the row after a nested acquisition.
     *
     * @param atLeast the requested lease; null if there was none
     * @return false if the hold is lost
     * @throws StoreException if the database failed
     */
    boolean reenter(int holdCount, @Nullable Duration atLeast, Deadline deadline) throws InterruptedException {
        return concludeWrite(validity.reenter(row, current -> holdCount, atLeast, deadline));
    }

    /**
     * Prolongs the hold to at least this long from now, by the database's clock.
     *
     * @param count returns the hold count for the present one, if the row is written
     * @return false if the hold is lost
     * @throws StoreException if the database failed
     */
    boolean renew(IntUnaryOperator count, Duration atLeast) {
        if (!validity.isConfirmed()) {
            // Its look after the acquisition had no answer.
            recheck();
            if (isLost()) {
                return false;
            }
        }
        return Deadline.uninterruptibly(
                ticker, HoldRow.WRITE_LIMIT, deadline -> concludeWrite(validity.renew(row, count, atLeast, deadline)));
    }

    /**
     * Whether the hold continues after a successful or failed write of its row. The write must not undo a loss that was reported
     * meanwhile.
     */
    private boolean concludeWrite(boolean written) {
        if (!written && !isLost()) {
            loseToDatabase();
        }
        if (written && isLost()) {
            row.abandon();
        }
        return written && !isLost();
    }

    /** Reports a loss that the guard of a transaction has found in the row; returns the exception to throw. */
    LockLostException lostInTransaction() {
        tell(isLost() ? validity.cause() : LossCause.TAKEN_OVER);
        return loss.exception();
    }

    /**
     * Asks the database whether the row still shows this grant, and reports a loss.
     *
     * @throws StoreException if the database failed
     */
    void recheck() {
        if (!isEnded && !isLost()) {
            rechecked(lossCause());
        }
    }

    /**
     * Asks the database why the row no longer shows this grant; empty if it still shows it.
     *
     * @throws StoreException if the database failed
     */
    Optional<LossCause> lossCause() {
        return row.lossCause();
    }

    /** Reports a loss that a look at the row has shown; if there is none, the look confirms the hold. */
    void rechecked(Optional<LossCause> lossCause) {
        if (!isEnded && !isLost()) {
            lossCause.ifPresent(this::lose);
            confirm();
        }
    }

    /**
     * Asks the database how long the lease lasts, and reports the loss if it is over.
     *
     * @throws StoreException if the database failed
     */
    void recheckLease() {
        if (!isEnded && !isLost() && !validity.correct(row::left)) {
            row.lossCause().ifPresent(this::lose);
        }
        // Reports the loss, if the lease is over now.
        boolean unused = isLost();
    }

    /** Notes that the row still showed this grant when reconciliations could already see the hold. */
    void confirm() {
        validity.confirm(ticker.nanoTime());
    }

    /**
     * Confirms the hold after its registration. From now on, every reconciliation sees it. An earlier reconciliation that began
     * after the grant was sent may have missed the hold, and also the end of the grant. In that case, the hold checks its row
     * itself. It is confirmed only after the database has answered.
     */
    void confirmOnceKept() {
        if (heartbeat.reconciliations() == reconciliations) {
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
                inDoubtWrites.later(this::recheckUntilAnswered);
            }
        }
    }

    /** Notes that the last handle is being released. From now on, a loss interrupts no thread and is not reported. */
    void end() {
        isEnded = true;
        loss.spare();
    }

    /** Notes that the release was cancelled. */
    void resume() {
        isEnded = false;
    }
}
