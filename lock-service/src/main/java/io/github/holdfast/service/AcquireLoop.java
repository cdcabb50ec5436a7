package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockStore;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.service.Attempt.Deserted;
import io.github.holdfast.service.Attempt.Failed;
import io.github.holdfast.service.Attempt.GaveUp;
import io.github.holdfast.service.Attempt.Granted;
import io.github.holdfast.service.Attempt.InUse;
import io.github.holdfast.service.Attempt.Locked;
import io.github.holdfast.service.Attempt.Missing;
import io.github.holdfast.service.Attempt.NotWanted;
import io.github.holdfast.service.Attempt.Overdue;
import io.github.holdfast.service.Attempt.Overtaken;
import io.github.holdfast.service.Attempt.Refused;
import io.github.holdfast.service.Attempt.TooLate;
import java.time.Duration;
import java.util.function.Function;

/**
 * The only loop in which a lock is waited for, whatever it is held by: it attempts, clears what stands in the way and is
 * nobody's, and pauses, without a connection. Thread-safe.
 */
final class AcquireLoop {

    private final Internals internals;
    private final String name;

    AcquireLoop(Internals internals, String name) {
        this.internals = internals;
        this.name = name;
    }

    /**
     * Attempts until the lock is granted or the patience is over; at least once, and until the row was seen held or free.
     *
     * @return the last attempt
     * @throws IllegalStateException if the service is closed, or being closed and the thread holds nothing
     * @throws InterruptedException if the patience is interruptible and the thread was interrupted
     */
    Attempt repeat(Patience patience, Function<Patience, Attempt> attempts) throws InterruptedException {
        try (Waiter waiter = internals.wakeUps().waiter(name)) {
            return repeat(patience, attempts, waiter);
        }
    }

    private Attempt repeat(Patience patience, Function<Patience, Attempt> attempts, Waiter waiter)
            throws InterruptedException {
        boolean wasPrepared = false;
        while (true) {
            internals.checkAccepting();
            awaitOffer(patience);
            Attempt attempt = prepared(attempts.apply(patience), patience);
            if (attempt instanceof Failed && patience.takeInterrupt()) {
                continue;
            }
            tellQueue(attempt);
            if (attempt instanceof Overtaken) {
                internals.events().tell(listener -> listener.overtaken(name));
            }
            boolean isOver = isDecision(attempt) ? patience.isOver() : patience.isOverForDecision();
            if (isOver || isLast(attempt)) {
                return attempt;
            }
            // The way was made free for the next attempt, but if that was in vain it is not tried without a pause.
            boolean isPrepared = isPreparable(attempt) && !wasPrepared;
            wasPrepared = isPrepared;
            if (!isPrepared) {
                waiter.pause(patience, attempt instanceof Refused refused ? refused : null);
            }
        }
    }

    private void awaitOffer(Patience patience) throws InterruptedException {
        Duration offered = internals.queue().offered(name);
        while (!offered.isZero() && !patience.isOver()) {
            patience.pauseFor(offered);
            offered = internals.queue().offered(name);
        }
    }

    private static boolean isPreparable(Attempt attempt) {
        return attempt instanceof Missing || attempt instanceof Overdue || attempt instanceof Deserted;
    }

    /** Those who wait behind this thread are to know whether the database tells who has the lock. */
    private void tellQueue(Attempt attempt) {
        if (!(attempt instanceof Failed failed)) {
            internals.queue().asked(name, null);
        } else if (isDecision(failed)) {
            internals.queue().asked(name, failed.why());
        }
    }

    private static boolean isLast(Attempt attempt) {
        return attempt instanceof Granted
                || attempt instanceof NotWanted
                || attempt instanceof Locked
                || attempt instanceof TooLate
                || attempt instanceof GaveUp;
    }

    /** Whether the attempt tells something about the lock, and not only that it must be looked at again. */
    private static boolean isDecision(Attempt attempt) {
        return attempt instanceof Refused
                || attempt instanceof InUse
                || (attempt instanceof Failed failed && !failed.why().failure().isUndecided());
    }

    /**
     * What it means that the database failed when it was asked for the lock's row, and nothing is open. If it waited too long,
     * and another transaction still has that row locked, somebody holds the lock by that.
     */
    Attempt failed(StoreException failed, Patience patience) {
        return failed.failure() == Failure.BUSY && isLockedByAnother(failed, patience)
                ? new InUse()
                : Attempt.failed(failed);
    }

    private boolean isLockedByAnother(StoreException failed, Patience patience) {
        try {
            return internals
                    .store()
                    .inTransaction(patience.forOneStatement(), locks -> locks.findForUpdateSkipLocked(name))
                    .isEmpty();
        } catch (StoreException alsoFailed) {
            failed.addSuppressed(alsoFailed);
            return false;
        }
    }

    private Attempt prepared(Attempt attempt, Patience patience) {
        LockStore store = internals.store();
        try {
            if (attempt instanceof Missing) {
                store.inTransaction(patience.forOneStatement(), locks -> locks.createIfMissing(name));
            } else if (attempt instanceof Overdue overdue) {
                store.inTransaction(
                        patience.forOneStatement(),
                        () -> store.nodes().endIfOverdue(overdue.nodeId(), internals.clockTolerance()));
            } else if (attempt instanceof Deserted deserted) {
                LockEntity row = deserted.row();
                // Whether that is done or somebody was faster, the next look tells.
                store.inTransaction(
                        patience.forOneStatement(),
                        () -> store.vacancies().vacate(row, row.vacated(), internals.lockDelay()));
            }
            return attempt;
        } catch (StoreException failed) {
            return Attempt.failed(failed);
        }
    }
}
