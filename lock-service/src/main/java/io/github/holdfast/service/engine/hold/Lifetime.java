package io.github.holdfast.service.engine.hold;

import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.service.engine.node.Heartbeat;
import io.github.holdfast.service.engine.node.Node;
import io.github.holdfast.service.engine.row.HoldRow;
import io.github.holdfast.service.engine.row.InDoubtWrites;
import io.github.holdfast.service.engine.row.LockAccess;
import io.github.holdfast.service.engine.row.NewGrant;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.runtime.ListenerDispatcher;
import io.github.holdfast.service.engine.runtime.Ticker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.IntUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The lifetime of a hold, from its grant to its release or loss. It says how long the hold is valid by the local clock, and
 * reports the loss. Any thread may read it. A reported loss is final.
 */
public final class Lifetime {

    private final Heartbeat heartbeat;
    private final InDoubtWrites inDoubtWrites;
    private final Ticker ticker;
    private final Expiry validity;
    private final Grant grant;
    private final long token;
    private final ListenerDispatcher listeners;
    private final HoldRow row;
    private final Runnable whenLost;
    private final long reconciliations;
    private final List<Consumer<LockLost>> handlers = new ArrayList<>();
    private @Nullable Thread interrupted;
    private boolean isSuspect;
    private volatile boolean isEnded;

    /** The loss that was reported; null if none was. */
    private volatile @Nullable LockLost loss;

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
            NewGrant granted,
            HoldRow row,
            Runnable whenLost) {
        this.heartbeat = heartbeat;
        this.inDoubtWrites = access.inDoubtWrites();
        this.ticker = access.ticker();
        this.row = row;
        this.whenLost = whenLost;
        this.reconciliations = granted.reconciliations();
        this.grant = granted.grant();
        this.token = granted.token();
        this.listeners = listeners;
        this.validity = expiry(granted);
    }

    private Expiry expiry(NewGrant granted) {
        Node node = granted.node();
        return node == null
                ? new LeaseExpiry(ticker, granted.validFrom(), granted.validFor())
                : new NodeExpiry(heartbeat, node, granted.validFrom(), granted.validFor());
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

    /** How long the hold is still valid, by the local clock; zero if it is lost. */
    public Duration remaining() {
        long left = validity.left(ticker.nanoTime());
        return loss != null || left <= 0 ? Duration.ZERO : Duration.ofNanos(left);
    }

    /** Whether its lease, or its node's lease, has expired by the local clock. */
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
        if (expireIfOver() || left.isZero()) {
            throw lossException();
        }
        if (left.compareTo(wanted) < 0) {
            throw new LockLostException(row.name(), LossCause.EXPIRED, "it is valid only for another " + left);
        }
    }

    /** Whether the hold has expired by the local clock, or its loss was reported. Only {@link #expireIfOver} makes the first final. */
    boolean isLost() {
        return remaining().isZero();
    }

    public LockState state() {
        boolean isOverdue = validity.untilSuspect(ticker.nanoTime()) <= 0;
        if (isLost()) {
            return LockState.LOST;
        }
        return isOverdue ? LockState.SUSPECT : LockState.HELD;
    }

    /**
     * Reports the loss of a hold that has expired by the local clock. Call this before a decision that relies on the end: a renewal under
     * way cannot undo a reported loss.
     *
     * @return whether the hold is lost
     */
    boolean expireIfOver() {
        boolean isOver = isOver();
        if (isOver) {
            lose(validity.cause());
        }
        return isOver || loss != null;
    }

    /**
     * Reports that the hold is suspect or lost, if it is.
     *
     * @return the nanoseconds until the next check
     */
    long check() {
        if (expireIfOver()) {
            return Long.MAX_VALUE;
        }
        long now = ticker.nanoTime();
        long untilSuspect = validity.untilSuspect(now);
        suspect(untilSuspect <= 0);
        return Math.min(untilSuspect <= 0 ? Long.MAX_VALUE : untilSuspect, Math.max(validity.left(now), 1));
    }

    /** Reports an overdue renewal, once each time that it becomes overdue. */
    private void suspect(boolean isOverdue) {
        boolean isNews;
        synchronized (this) {
            isNews = isOverdue && !isSuspect;
            isSuspect = isOverdue;
        }
        if (isNews) {
            listeners.dispatchLater(listener -> listener.suspect(grant.name(), token));
        }
    }

    /** Reports the loss of the hold. Reports nothing during the last release, because its outcome shows the loss. */
    public void lose(LossCause cause) {
        if (!isEnded) {
            tell(cause);
        }
    }

    /** Reports the loss, unless one was reported before. */
    private void tell(LossCause cause) {
        LockLost lost = new LockLost(grant.name(), grant.owner(), token, cause);
        synchronized (this) {
            if (loss != null) {
                return;
            }
            loss = lost;
            if (interrupted != null) {
                interrupted.interrupt();
            }
            handlers.forEach(handler -> listeners.dispatchLater(lost, handler));
        }
        listeners.dispatchLater(listener -> listener.lost(lost));
        whenLost.run();
    }

    /** The exception to throw. If nothing was lost, it says that the hold was released. */
    LockLostException lossException() {
        LockLost lost = loss;
        if (lost != null) {
            return new LockLostException(
                    grant.name(), lost.cause(), lost.cause().why());
        }
        LossCause cause = validity.cause();
        return isOver() && !isEnded
                ? new LockLostException(grant.name(), cause, cause.why())
                : new LockLostException(grant.name(), LossCause.EXPIRED, "it was released");
    }

    /** Calls the handler when the hold is lost, or now if its loss was reported already. */
    synchronized void onLost(Consumer<LockLost> handler) {
        LockLost lost = loss;
        if (lost == null) {
            handlers.add(handler);
        } else {
            listeners.dispatchLater(lost, handler);
        }
    }

    /** Interrupts the thread if the hold is lost before {@link #spare}, or now if its loss was reported already. */
    public synchronized void interruptOnLoss(Thread thread) {
        interrupted = thread;
        if (loss != null) {
            thread.interrupt();
        }
    }

    /** Interrupts no thread from now on. */
    synchronized void spare() {
        interrupted = null;
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
            // Its check after the acquisition had no answer.
            recheck();
            if (expireIfOver()) {
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
        boolean isLost = expireIfOver();
        if (!written && !isLost) {
            loseToDatabase();
        }
        if (written && isLost) {
            row.abandon();
        }
        return written && !isLost;
    }

    /** Reports a loss that the guard of a transaction has found in the row; returns the exception to throw. */
    LockLostException lostInTransaction() {
        tell(isLost() ? validity.cause() : LossCause.TAKEN_OVER);
        return lossException();
    }

    /**
     * Asks the database whether the row still shows this grant, and reports a loss.
     *
     * @throws StoreException if the database failed
     */
    void recheck() {
        if (!isEnded && !expireIfOver()) {
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

    /** Reports a loss that a read of the row has shown; if there is none, the read confirms the hold. */
    void rechecked(Optional<LossCause> lossCause) {
        if (!isEnded && !expireIfOver()) {
            lossCause.ifPresent(this::lose);
            confirm();
        }
    }

    /**
     * Reads from the database how long the lease lasts, and reports the loss if it has expired.
     *
     * @throws StoreException if the database failed
     */
    void recheckLease() {
        if (!isEnded && !expireIfOver() && !validity.correct(row::left)) {
            row.lossCause().ifPresent(this::lose);
        }
        check();
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
    public void confirmOnceKept() {
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
            if (!isEnded && !expireIfOver()) {
                inDoubtWrites.later(this::recheckUntilAnswered);
            }
        }
    }

    /** Notes that the last handle is being released. From now on, a loss interrupts no thread and is not reported. */
    void end() {
        isEnded = true;
        spare();
    }

    /** Notes that the release was cancelled. */
    void resume() {
        isEnded = false;
    }
}
