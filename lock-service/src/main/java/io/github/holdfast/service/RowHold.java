package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.RowTransaction;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.service.Attempt.Locked;
import jakarta.persistence.EntityManager;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A lock whose row a transaction has locked: the caller's, or one of its own. It ends with that transaction. The count of
 * nested acquisitions is kept here and never written: a holder that writes the row fails those who wait for it at REPEATABLE
 * READ. Thread-safe, but a caller's transaction is used by its thread only.
 */
final class RowHold implements Holding {

    private static final Logger LOG = LoggerFactory.getLogger(RowHold.class);

    private final Internals internals;
    private final Locked locked;
    private final String owner;
    private final @Nullable TransactionScope callers;
    private final Thread thread = Thread.currentThread();
    private final Coverage coverage = new Coverage();
    private final ReentrantLock changing = new ReentrantLock();
    private final long acquiredAt;
    private volatile int handles = 1;
    private volatile LockState state = LockState.HELD;
    private volatile LossCause cause = LossCause.DISCONNECTED;

    /**
     * The hold of what was just locked.
     *
     * @param owner who that is, for people
     * @param callers the calling thread's transaction, which has the row locked; null if it is one of its own
     */
    RowHold(Internals internals, Locked locked, String owner, @Nullable TransactionScope callers) {
        this.internals = internals;
        this.locked = locked;
        this.owner = owner;
        this.callers = callers;
        this.acquiredAt = internals.ticker().nanoTime();
    }

    @Override
    public String name() {
        return locked.row().name();
    }

    LockEntity row() {
        return locked.row();
    }

    Thread thread() {
        return thread;
    }

    RowTransaction transaction() {
        return locked.transaction();
    }

    boolean isCallers() {
        return callers != null;
    }

    Coverage coverage() {
        return coverage;
    }

    @Override
    public String owner() {
        return owner;
    }

    @Override
    public long fencingToken() {
        throw new UnsupportedOperationException("Lock '" + name() + "' is held as a row lock, which has no token");
    }

    @Override
    public int holdCount() {
        return handles;
    }

    @Override
    public LockState state() {
        return state == LockState.HELD && !isHeld() ? LockState.RELEASED : state;
    }

    /** Whether its transaction has the row locked still; between a caller's commit and its end, it has not. */
    boolean isHeld() {
        return state == LockState.HELD && (callers == null || transaction().isActive());
    }

    @Override
    public Duration remaining() {
        return isHeld() ? LockRequest.LONGEST_DURATION : Duration.ZERO;
    }

    @Override
    public void renew(Duration lease) {
        throw new UnsupportedOperationException("Lock '" + name() + "' is held as a row lock, which has no lease");
    }

    @Override
    public void ensureValidFor(Duration duration) {
        changing.lock();
        try {
            checkUsable();
            if (transaction().lockIfFree(name()).isEmpty()) {
                // The database has rolled back or committed behind Spring's back, and somebody else has it locked.
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

    /**
     * Checks, for a transaction that is about to commit, that another one still has the row locked.
     *
     * @throws LockLostException if it has not
     * @throws LockStoreException if the database failed
     */
    void checkForCommit() {
        if (state != LockState.RELEASED) {
            ensureValidFor(Duration.ZERO);
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
            throw new IllegalStateException("The transaction that had locked '" + name() + "' has ended");
        }
        if (callers != null && Thread.currentThread() != thread) {
            throw new IllegalStateException("Lock '" + name() + "' belongs to a transaction of another thread");
        }
    }

    /** What commits together with the row lock needs no other guard. */
    @Override
    public void guard() {
        if (!isFenced()) {
            throw new IllegalStateException(
                    "Row lock '" + name() + "' is not held by the calling thread's transaction, and cannot guard it");
        }
        ensureValidFor(Duration.ZERO);
    }

    @Override
    public void guard(EntityManager entityManager) {
        throw new UnsupportedOperationException(
                "Row lock '" + name() + "' is not held by a transaction of that entity manager");
    }

    @Override
    public boolean isFenced() {
        return callers != null && isHeld() && internals.transactions().isCurrent(callers);
    }

    @Override
    public void detach() {
        internals.rowLocks().unbind(this);
    }

    @Override
    public void onLost(Consumer<LockLost> handler) {
        LOG.debug("Nobody is told when the connection of row lock '{}' breaks", name());
    }

    /**
     * Counts one more handle.
     *
     * @return false if it has ended
     * @throws IllegalStateException if the request is to be fenced, and the calling thread's transaction is not the hold's
     */
    boolean reenter(LockRequest inner) {
        changing.lock();
        try {
            if (inner.fence() == LockRequest.Fence.REQUIRED && !isFenced()) {
                throw new IllegalStateException(
                        "Row lock '" + name()
                                + "' is to be fenced, but this thread holds it through another transaction than its current one");
            }
            if (!isHeld() || (handles == 0 && !coverage.cancelRelease())) {
                return false;
            }
            handles = Math.incrementExact(handles);
            return true;
        } finally {
            changing.unlock();
        }
    }

    @Override
    public ReleaseOutcome release() {
        changing.lock();
        try {
            if (state != LockState.HELD) {
                return outcome();
            }
            handles = Math.max(0, handles - 1);
            if (handles > 0) {
                return ReleaseOutcome.STILL_HELD;
            }
            internals.transactions().joinForRelease(this);
            return coverage.beginRelease() ? end(LockState.RELEASED) : ReleaseOutcome.DEFERRED;
        } finally {
            changing.unlock();
        }
    }

    /** A transaction that ran under it, or the one that has locked the row, has ended. */
    void completed(TransactionScope scope) {
        changing.lock();
        try {
            boolean isDue = coverage.end(scope, false) && coverage.takeRelease();
            if (isDue || scope == callers) {
                ReleaseOutcome unused = end(LockState.RELEASED);
            }
        } finally {
            changing.unlock();
        }
    }

    /** Ends it, however many handles are open: the service is closed. */
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
        handles = 0;
        coverage.forceRelease();
        state = endState;
        try {
            transaction().close();
        } catch (StoreException broken) {
            state = LockState.LOST;
        }
        internals.rowLocks().remove(this);
        internals.givenBack(name());
        Duration heldFor = Duration.ofNanos(internals.ticker().nanoTime() - acquiredAt);
        internals.events().tell(l -> l.released(name(), locked.row().fencingToken(), heldFor, outcome()));
        return outcome();
    }

    private ReleaseOutcome outcome() {
        return state == LockState.LOST ? ReleaseOutcome.LOST : ReleaseOutcome.RELEASED;
    }

    @Override
    public String toString() {
        return "name=%s, owner=%s, row lock".formatted(name(), owner);
    }

    @Override
    public Optional<LockLostException> loss() {
        return Optional.of(lost());
    }

    private LockLostException lost() {
        return new LockLostException(name(), cause, cause.why());
    }
}
