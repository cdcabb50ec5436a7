package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockRepository;
import io.github.holdfast.service.Attempt.Abandoned;
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

        /** It left before it was chosen. */
        GONE,

        /** It left before it was answered: the one that has chosen it gives back what it has granted. */
        ABANDONED
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
     * @return the grant, or that the lock was being granted when the patience was over; empty if the lock must be asked for
     * @throws IllegalStateException if the service is closed, or being closed and the thread holds nothing
     * @throws InterruptedException if the patience is interruptible and the thread was interrupted, and nothing was granted
     */
    Optional<Attempt> await(Hold holder, Patience patience) throws InterruptedException {
        holder.expect(this);
        try {
            while (isWaitingFor(holder) && !patience.isOver()) {
                internals.checkAccepting();
                patience.pauseUntil(() -> !isWaitingFor(holder), LOOK);
            }
            awaitAnswer(patience);
            leave();
        } catch (InterruptedException | RuntimeException thrown) {
            leave();
            if (granted().isEmpty()) {
                throw thrown;
            }
            if (thrown instanceof InterruptedException) {
                Thread.currentThread().interrupt();
            }
        }
        return state.get() == State.ABANDONED
                ? Optional.of(new Abandoned())
                : granted().map(grant -> grant);
    }

    /** The write that grants the lock is under way, and takes some milliseconds, unless its connection is dead. */
    private void awaitAnswer(Patience patience) throws InterruptedException {
        while (state.get() == State.CHOSEN) {
            internals.checkAccepting();
            boolean unused = patience.takeInterrupt();
            internals.ticker().park(this, LOOK.toNanos());
            if (patience.isOver()) {
                return;
            }
        }
    }

    private boolean isWaitingFor(Hold holder) {
        return state.get() == State.WAITING && holder.isHeld();
    }

    /** Waits no more, unless it was answered. */
    private void leave() {
        if (!state.compareAndSet(State.WAITING, State.GONE)) {
            state.compareAndSet(State.CHOSEN, State.ABANDONED);
        }
    }

    /** What it was answered; nothing that came too late. */
    private Optional<Granted> granted() {
        return state.get() == State.ANSWERED ? Optional.ofNullable(granted) : Optional.empty();
    }

    /** Who is to have the lock. */
    String owner() {
        return acquisition.owner();
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

    /**
     * Ends the wait.
     *
     * @return false if it has left meanwhile: what was granted, or may have been, is the caller's to give back
     */
    boolean answer(Optional<Granted> grant) {
        granted = grant.orElse(null);
        boolean isThere = state.compareAndSet(State.CHOSEN, State.ANSWERED);
        LockSupport.unpark(thread);
        return isThere;
    }
}
