package io.github.holdfast.service.engine.hold;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.rows.LockRows;
import io.github.holdfast.service.engine.row.NewGrant;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.runtime.ServicePhase;
import io.github.holdfast.service.engine.runtime.Ticker;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Waits for a lock that another thread of this process holds. The releasing thread grants the lock to this thread. That takes one
 * write instead of two, and the row never shows the lock as free. During its wait, this thread does not query the database. One
 * thread waits; any thread may choose it.
 */
public final class HandOffWaiter {

    /**
     * How often the waiter checks whether the holder has lost the lock, or the service is closing. Neither event wakes the
     * waiter.
     */
    private static final Duration CHECK_PERIOD = Duration.ofMillis(50);

    /** An acquisition to which the lock can be granted. */
    public interface Candidate extends KeptLocks.Heir {

        /** The owner that is to get the lock. */
        String owner();

        /**
         * Grants the lock to the acquisition, on the thread of the lock's holder.
         *
         * @param row the row as the holder last wrote it
         * @param runsSince the local time from which this process has kept the lock to its own threads, while others may wait
         * @return empty if the row has changed since, or a node is needed and none is alive
         * @throws io.github.holdfast.repository.StoreException if the database failed
         */
        Optional<NewGrant.OfLock> acquireByHandOff(LockRows locks, LockEntity row, long runsSince);

        /** Whether it can go on with the holder's own grant. */
        boolean canInherit();
    }

    private enum State {
        WAITING,
        CHOSEN,
        ANSWERED,

        /** The waiter left before it was chosen. */
        GONE,

        /** The waiter left before the answer. The thread that chose it releases the grant again. */
        ABANDONED
    }

    private final ServicePhase phase;
    private final Ticker ticker;
    private final Candidate candidate;
    private final Thread thread = Thread.currentThread();
    private final AtomicReference<State> state = new AtomicReference<>(State.WAITING);
    private volatile NewGrant.@Nullable OfLock granted;

    /** @param candidate the calling thread's acquisition, which the holder's thread uses while this one waits */
    public HandOffWaiter(ServicePhase phase, Ticker ticker, Candidate candidate) {
        this.phase = phase;
        this.ticker = ticker;
        this.candidate = candidate;
    }

    /**
     * Waits until the holder has released or lost the lock, or the deadline has passed.
     *
     * @param isHeld whether the holder has neither released nor lost the lock; the holder must expect this waiter
     * @return the grant; empty if the caller must acquire the lock from the database, unless the grant {@linkplain #isAbandoned is
     *     abandoned}
     * @throws IllegalStateException if the service is closed, or if it is closing and the thread holds no lock
     * @throws InterruptedException if the deadline is interruptible and the thread was interrupted, and nothing was granted
     */
    public Optional<NewGrant.OfLock> await(BooleanSupplier isHeld, Deadline deadline) throws InterruptedException {
        try {
            while (isWaitingWhile(isHeld) && !deadline.isOver()) {
                phase.checkAccepting();
                deadline.pauseUntil(() -> !isWaitingWhile(isHeld), CHECK_PERIOD);
            }
            // One atomic step: between a check and a change, the holder could choose this thread.
            if (!state.compareAndSet(State.WAITING, State.GONE)) {
                awaitAnswer(deadline);
            }
        } catch (InterruptedException | RuntimeException thrown) {
            leave();
            if (granted().isEmpty()) {
                throw thrown;
            }
            if (thrown instanceof InterruptedException) {
                Thread.currentThread().interrupt();
            }
        }
        return granted();
    }

    /** Whether the waiter left while its grant was being written. The thread that writes it releases the lock again. */
    public boolean isAbandoned() {
        return state.get() == State.ABANDONED;
    }

    /**
     * Waits for the write that grants the lock. The write is under way, and takes some milliseconds unless its connection is
     * dead.
     */
    private void awaitAnswer(Deadline deadline) throws InterruptedException {
        while (state.get() == State.CHOSEN) {
            phase.checkAccepting();
            boolean unused = deadline.takeInterrupt();
            ticker.park(this, CHECK_PERIOD.toNanos());
            if (deadline.isOver()) {
                leave();
            }
        }
    }

    private boolean isWaitingWhile(BooleanSupplier isHeld) {
        return state.get() == State.WAITING && isHeld.getAsBoolean();
    }

    /** Stops waiting, unless the waiter was answered. */
    private void leave() {
        if (!state.compareAndSet(State.WAITING, State.GONE)) {
            state.compareAndSet(State.CHOSEN, State.ABANDONED);
        }
    }

    /** The grant in the answer; empty if there is none, or the answer came too late. */
    private Optional<NewGrant.OfLock> granted() {
        return state.get() == State.ANSWERED ? Optional.ofNullable(granted) : Optional.empty();
    }

    /** The owner that is to get the lock. */
    String owner() {
        return candidate.owner();
    }

    /** Chooses the waiter, if it still waits. The caller must then {@linkplain #answer answer} it. */
    boolean choose() {
        return state.compareAndSet(State.WAITING, State.CHOSEN);
    }

    /**
     * Writes the grant of the lock to the waiting thread.
     *
     * @param row the row as its holder last wrote it
     * @param runsSince the local time from which this process has kept the lock to its own threads, while others may wait
     * @return the grant; empty if the row has changed since, or the waiting thread could not keep the lock
     * @throws io.github.holdfast.repository.StoreException if the database failed
     */
    Optional<NewGrant.OfLock> write(LockRows locks, LockEntity row, long runsSince) {
        return candidate.acquireByHandOff(locks, row, runsSince);
    }

    /**
     * Chooses the waiter for the holder's own grant, unless it has left or needs a grant of its own. The caller must then {@linkplain #answer
     * answer} it.
     *
     * @param owner the owner of the grant, as which its acquisition goes on
     */
    boolean claimFor(String owner) {
        if (!candidate.canInherit() || !choose()) {
            return false;
        }
        candidate.continueAs(owner);
        return true;
    }

    /**
     * Answers the waiter, and so ends its wait.
     *
     * @return false if the waiter has left: the caller must release the grant, even if its outcome is unknown
     */
    boolean answer(Optional<NewGrant.OfLock> grant) {
        granted = grant.orElse(null);
        boolean isThere = state.compareAndSet(State.CHOSEN, State.ANSWERED);
        LockSupport.unpark(thread);
        return isThere;
    }
}
