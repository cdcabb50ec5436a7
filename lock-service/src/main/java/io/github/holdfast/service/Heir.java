package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockRepository;
import io.github.holdfast.service.Attempt.Granted;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A thread that waits for a lock which another thread of this process holds. Whoever gives it back grants it to this thread: one write
 * in place of two, and none that shows it free in between. While it waits it does not ask the database. One thread waits, any may
 * choose it.
 */
final class Heir {

    /** After which time it looks whether the holder has lost the lock, or the service is being closed: nobody wakes it for that. */
    private static final Duration LOOK = Duration.ofMillis(50);

    private enum State {
        WAITING,
        CHOSEN,
        ANSWERED,
        GONE
    }

    private final Internals internals;
    private final Acquisition acquisition;
    private final Thread thread = Thread.currentThread();
    private final AtomicReference<State> state = new AtomicReference<>(State.WAITING);
    private volatile @Nullable Granted granted;

    /** @param acquisition of the calling thread, which is used by the holder's while this one waits */
    Heir(Internals internals, Acquisition acquisition) {
        this.internals = internals;
        this.acquisition = acquisition;
    }

    /**
     * Waits until the holder has given the lock back or lost it, or the patience is over.
     *
     * @return the grant; empty if the lock must be asked for
     * @throws IllegalStateException if the service is closed, or being closed and the thread holds nothing
     * @throws InterruptedException if the patience is interruptible and the thread was interrupted, and nothing was granted
     */
    Optional<Granted> await(Hold holder, Patience patience) throws InterruptedException {
        holder.expect(this);
        try {
            while (isWaitingFor(holder) && !patience.isOver()) {
                internals.checkAccepting();
                patience.pauseUntil(() -> !isWaitingFor(holder), LOOK);
            }
            leave();
        } catch (InterruptedException | RuntimeException thrown) {
            leave();
            if (granted == null) {
                throw thrown;
            }
            if (thrown instanceof InterruptedException) {
                Thread.currentThread().interrupt();
            }
        }
        return Optional.ofNullable(granted);
    }

    private boolean isWaitingFor(Hold holder) {
        return state.get() == State.WAITING && holder.isHeld();
    }

    /** Waits no more, but for a write that is under way: whether that is done or not, nobody else would know what to do with it. */
    private void leave() {
        if (state.compareAndSet(State.WAITING, State.GONE)) {
            return;
        }
        boolean interrupted = false;
        while (state.get() == State.CHOSEN) {
            internals.ticker().park(this, LOOK.toNanos());
            interrupted |= Thread.interrupted();
        }
        if (interrupted) {
            thread.interrupt();
        }
    }

    /** Whether it still waits; it is to be {@linkplain #answer answered} then. */
    boolean choose() {
        return state.compareAndSet(State.WAITING, State.CHOSEN);
    }

    /**
     * Writes that the lock is this thread's.
     *
     * @param row as its holder has written it last
     * @param runsSince since when others may have waited while the lock went from one thread here to the next
     * @return the grant; empty if the row was not as it was written last, or this thread could not keep the lock
     * @throws io.github.holdfast.repository.StoreException if the database failed
     */
    Optional<Granted> write(LockRepository locks, LockEntity row, long runsSince) {
        return acquisition.inherit(locks, row, runsSince);
    }

    /** Ends the wait. */
    void answer(Optional<Granted> grant) {
        granted = grant.orElse(null);
        state.set(State.ANSWERED);
        LockSupport.unpark(thread);
    }
}
