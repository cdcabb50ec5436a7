package io.github.holdfast.service.engine.rowlock;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockMode;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.rows.RowTransaction;
import io.github.holdfast.service.engine.acquire.AttemptResult.RowLockAcquired;
import io.github.holdfast.service.engine.hold.Handle;
import io.github.holdfast.service.engine.hold.Hold;
import io.github.holdfast.service.engine.hold.HoldCollaborators;
import io.github.holdfast.service.engine.hold.HoldRegistry;
import io.github.holdfast.service.engine.row.LockAccess;
import io.github.holdfast.service.engine.runtime.ListenerDispatcher;
import io.github.holdfast.service.engine.tx.GuardedHold;
import io.github.holdfast.service.engine.tx.TransactionGuard;
import io.github.holdfast.service.engine.tx.TransactionScope;
import jakarta.persistence.EntityManager;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A hold of a row lock. A transaction has locked the row: the caller's, or one of the hold's own. The hold ends with that
 * transaction. It counts nested acquisitions only in memory: a write of the row would make waiters at REPEATABLE READ fail.
 * Thread-safe, but only the caller's thread uses the caller's transaction.
 */
public final class RowHold extends Hold implements GuardedHold.OfRow {

    private static final Logger LOG = LoggerFactory.getLogger(RowHold.class);

    private final LockAccess access;
    private final TransactionGuard transactions;
    private final ListenerDispatcher listeners;
    private final HoldRegistry holds;
    private final RowTransactions rowTransactions;
    private final RowLockAcquired locked;
    private final String owner;
    private final @Nullable TransactionScope callers;
    private final Thread thread = Thread.currentThread();
    private final ReentrantLock changing = new ReentrantLock();

    /** How many handles are not released, even after a loss. */
    private volatile int handles = 1;

    private volatile LockState state = LockState.HELD;
    private volatile LossCause cause = LossCause.DISCONNECTED;

    /**
     * The hold of a row that was just locked.
     *
     * @param owner a readable description of the owner
     * @param callers the calling thread's transaction, if that has locked the row; null if the hold has a transaction of its own
     */
    RowHold(
            HoldCollaborators collaborators,
            RowTransactions rowTransactions,
            RowLockAcquired locked,
            String owner,
            @Nullable TransactionScope callers) {
        super(collaborators.access().ticker());
        this.access = collaborators.access();
        this.transactions = collaborators.transactions();
        this.listeners = collaborators.listeners();
        this.rowTransactions = rowTransactions;
        this.holds = collaborators.holds();
        this.locked = locked;
        this.owner = owner;
        this.callers = callers;
    }

    @Override
    public String name() {
        return locked.row().name();
    }

    LockEntity row() {
        return locked.row();
    }

    @Override
    public Thread acquiredBy() {
        return thread;
    }

    RowTransaction transaction() {
        return locked.transaction();
    }

    @Override
    public boolean isCallers() {
        return callers != null;
    }

    @Override
    public boolean isLockedBy(TransactionScope scope) {
        return callers == scope;
    }

    /** {@inheritDoc} Its end is always reported at once. */
    @Override
    public boolean expireIfOver() {
        return isLost();
    }

    @Override
    public boolean isLost() {
        return state == LockState.LOST;
    }

    /** {@inheritDoc} It is lost, and no transaction of a caller ends it. */
    @Override
    public boolean isForgotten() {
        return callers == null && isLost() && areHandlesGone();
    }

    @Override
    public boolean isOutOfFence() {
        return isReplaced() && isForgotten();
    }

    @Override
    public String owner() {
        return owner;
    }

    @Override
    public LockMode mode() {
        return LockMode.EXCLUSIVE;
    }

    @Override
    public long fencingToken() {
        throw new UnsupportedOperationException("Row lock '" + name() + "' has no fencing token");
    }

    @Override
    public long tokenInRow() {
        return row().fencingToken();
    }

    @Override
    public String tokenText() {
        return "row lock";
    }

    @Override
    public int holdCount() {
        return state == LockState.HELD ? handles : 0;
    }

    @Override
    public LockState state() {
        return state == LockState.HELD && !isHeld() ? LockState.RELEASED : state;
    }

    @Override
    public Duration remaining() {
        return isHeld() ? LockRequest.LONGEST_DURATION : Duration.ZERO;
    }

    @Override
    public void renew(Duration atLeast) {
        throw new UnsupportedOperationException("Row lock '" + name() + "' has no lease");
    }

    @Override
    public void ensureValidFor(Duration wanted) {
        ensureHeld();
    }

    /** {@inheritDoc} The row lock itself is the guard: it lasts until the transaction commits. */
    @Override
    public void guard() {
        if (!isFenced()) {
            throw new IllegalStateException(
                    "Row lock '" + name() + "' is not held by the calling thread's transaction, and cannot guard it");
        }
        ensureHeld();
    }

    @Override
    public void guard(EntityManager entityManager) {
        throw new UnsupportedOperationException(
                "Row lock '" + name() + "' is not held by a transaction of that entity manager");
    }

    @Override
    public LockHandle downgrade(Handle handle) {
        throw new UnsupportedOperationException("Row lock '" + name() + "' cannot be downgraded");
    }

    @Override
    public void onLost(Consumer<LockLost> handler) {
        LOG.debug("Holdfast does not watch the connection of row lock '{}', and reports no loss to a handler", name());
    }

    /**
     * Whether the transaction still locks the row. After a caller's commit it does not, even before the transaction has
     * completed.
     */
    boolean isHeld() {
        return state == LockState.HELD && (callers == null || transaction().isActive());
    }

    /**
     * Checks that the transaction still locks the row, and that nothing was written to it since. Needs one statement. Another row
     * lock that was acquired and released meanwhile has written nothing, and is not noticed.
     *
     * @throws IllegalStateException if the transaction has ended, or belongs to another thread
     * @throws LockLostException if it does not
     * @throws LockStoreException if the database failed
     */
    void ensureHeld() {
        changing.lock();
        try {
            checkUsable();
            if (!lockUnchanged()) {
                // The database has rolled back or committed without Spring's knowledge, and another holder has locked
                // the row, or has acquired the lock by a write.
                cause = LossCause.TAKEN_OVER;
                throw lose();
            }
        } catch (StoreException failed) {
            if (failed.failure().isOfConnection()) {
                throw lose();
            }
            throw new LockStoreException(name(), "could not be checked", failed);
        } finally {
            changing.unlock();
        }
    }

    /** {@inheritDoc} After the commit of the caller's transaction that has locked the row, there is nothing to check. */
    @Override
    public void checkForCommit() {
        if (state() != LockState.RELEASED) {
            ensureHeld();
        }
    }

    private LockLostException lose() {
        transaction().setRollbackOnly();
        ReleaseOutcome unused = end(LockState.LOST);
        return lost();
    }

    private void checkUsable() {
        if (state == LockState.LOST) {
            throw lost();
        }
        if (!isHeld()) {
            throw new IllegalStateException("The transaction of row lock '" + name() + "' has ended");
        }
        if (callers != null && Thread.currentThread() != thread) {
            throw new IllegalStateException("Lock '" + name() + "' belongs to a transaction of another thread");
        }
    }

    @Override
    public boolean isFenced() {
        return callers != null && isHeld() && transactions.isCurrent(callers);
    }

    /** {@inheritDoc} Its thread cannot re-enter it any more. */
    @Override
    public void detach() {
        holds.unbindFence(this);
    }

    /**
     * Counts one more handle. In the caller's transaction, needs one statement: a rollback to a savepoint may have unlocked the row.
     *
     * @return false if the hold has ended
     * @throws IllegalStateException if the request requires a fence, and the calling thread's transaction is not the hold's
     * @throws LockLostException if the caller's transaction does not lock the row any more, and a handle is open
     * @throws LockStoreException if the database failed
     */
    public boolean reenter(LockRequest inner) {
        changing.lock();
        try {
            if (inner.isFenceRequired() && !isFenced()) {
                throw new IllegalStateException("Row lock '" + name()
                        + "' requires a fence, but this thread holds it in another transaction than its current one");
            }
            if (!isHeld()
                    || !lockAgain()
                    || (handles == 0 && !holdTransactions().cancelRelease())) {
                return false;
            }
            handles = Math.incrementExact(handles);
            return true;
        } catch (LockStoreException failed) {
            transaction().setRollbackOnly();
            throw failed;
        } finally {
            changing.unlock();
        }
    }

    /**
     * Locks the row again in the caller's transaction. A transaction of the hold's own still has it locked: no caller can roll that back
     * in part. If only the release is still to come and the row has changed, the hold ends, and the next one locks the row anew.
     */
    private boolean lockAgain() {
        if (callers == null) {
            return true;
        }
        if (handles > 0) {
            ensureHeld();
            return true;
        }
        try {
            if (lockUnchanged()) {
                return true;
            }
        } catch (StoreException failed) {
            throw new LockStoreException(name(), "was not re-entered", failed);
        }
        ReleaseOutcome unused = end(LockState.LOST);
        return false;
    }

    /** Locks the row, if the transaction has it not locked already. Returns whether it is as it was when it was first locked. */
    private boolean lockUnchanged() {
        return transaction()
                .lockIfFree(name())
                .filter(now -> now.version() == row().version())
                .isPresent();
    }

    /** {@inheritDoc} The last release ends the hold. */
    @Override
    public ReleaseOutcome release(Handle handle) {
        changing.lock();
        try {
            ReleaseOutcome before = handle.outcome();
            ReleaseOutcome outcome = before == null ? releaseHandle() : before;
            handle.released(outcome);
            return outcome;
        } finally {
            changing.unlock();
        }
    }

    private ReleaseOutcome releaseHandle() {
        handles = Math.max(0, handles - 1);
        if (state != LockState.HELD) {
            if (handles == 0) {
                holds.unbindFence(this);
            }
            return outcome();
        }
        if (handles > 0) {
            return ReleaseOutcome.STILL_HELD;
        }
        transactions.joinForRelease(this);
        return holdTransactions().beginRelease() ? end(LockState.RELEASED) : ReleaseOutcome.DEFERRED;
    }

    @Override
    public void completed(TransactionScope scope) {
        changing.lock();
        try {
            boolean isDue =
                    holdTransactions().end(scope, false) && holdTransactions().takeRelease();
            if (isDue || scope == callers) {
                ReleaseOutcome unused = end(LockState.RELEASED);
            }
            if (scope == callers) {
                holds.unbindFence(this);
            }
        } finally {
            changing.unlock();
        }
    }

    /** Ends a hold that cannot be registered, and with it the caller's transaction. */
    public void abandon() {
        if (callers != null) {
            transaction().setRollbackOnly();
        }
        close();
        detach();
    }

    /** Ends the hold, even if several handles are open, because the service is closed. */
    void close() {
        changing.lock();
        try {
            cause = LossCause.SERVICE_CLOSED;
            ReleaseOutcome unused = end(LockState.LOST);
        } finally {
            changing.unlock();
        }
    }

    private ReleaseOutcome end(LockState endState) {
        if (state != LockState.HELD) {
            return outcome();
        }
        state = endState;
        holdTransactions().forceRelease();
        try {
            transaction().close();
        } catch (StoreException broken) {
            state = LockState.LOST;
        } catch (RuntimeException | Error thrown) {
            state = LockState.LOST;
            throw thrown;
        } finally {
            // Transactions that begin under a lost hold must not commit, until its handles are released.
            if (state == LockState.LOST && handles > 0) {
                rowTransactions.lost(this);
            } else {
                rowTransactions.remove(this);
            }
            access.lockReleased(name());
        }
        Duration heldFor = heldFor();
        listeners.tell(l -> l.released(name(), locked.row().fencingToken(), heldFor, outcome()));
        return outcome();
    }

    private ReleaseOutcome outcome() {
        return state == LockState.LOST ? ReleaseOutcome.LOST : ReleaseOutcome.RELEASED;
    }

    @Override
    public Optional<LockLostException> lossOnClose() {
        return Optional.of(lost());
    }

    private LockLostException lost() {
        return new LockLostException(name(), cause, cause.why() + (isForgotten() ? DROPPED : ""));
    }
}
