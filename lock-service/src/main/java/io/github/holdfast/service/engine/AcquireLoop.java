package io.github.holdfast.service.engine;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockStore;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.service.engine.AttemptResult.HolderNodeExpired;
import io.github.holdfast.service.engine.AttemptResult.LeftByDeadHolder;
import io.github.holdfast.service.engine.AttemptResult.LimitTooLow;
import io.github.holdfast.service.engine.AttemptResult.LostRace;
import io.github.holdfast.service.engine.AttemptResult.NotDue;
import io.github.holdfast.service.engine.AttemptResult.Obstacle;
import io.github.holdfast.service.engine.AttemptResult.PermanentFailure;
import io.github.holdfast.service.engine.AttemptResult.Refusal;
import io.github.holdfast.service.engine.AttemptResult.RowLockAcquired;
import io.github.holdfast.service.engine.AttemptResult.RowLockedByOther;
import io.github.holdfast.service.engine.AttemptResult.RowMissing;
import io.github.holdfast.service.engine.AttemptResult.SemaphoreMissing;
import io.github.holdfast.service.engine.AttemptResult.Success;
import io.github.holdfast.service.engine.AttemptResult.TooLate;
import io.github.holdfast.service.engine.AttemptResult.TransientFailure;
import io.github.holdfast.service.engine.AttemptResult.Unavailable;
import io.github.holdfast.service.engine.InDoubtWrites.DueRelease;
import java.time.Duration;
import java.util.List;
import java.util.function.Function;

/**
 * The loop that acquires a lock, for row locks and all others. Each round attempts the acquisition, clears an obstacle, or
 * pauses. Obstacles are a missing row, an expired node, and a lock that a dead holder left. A pause needs no connection.
 * Thread-safe.
 */
final class AcquireLoop {

    /** Receives what the loop learns about the row of the lock. */
    interface RowListener {

        /** Does nothing. */
        RowListener NONE = new RowListener() {
            @Override
            public void created(LockEntity created) {}

            @Override
            public void releasedByOther(LockEntity held) {}
        };

        /** The loop has created the row. */
        void created(LockEntity created);

        /** A notification says that the holder of this row has released the lock. */
        void releasedByOther(LockEntity held);
    }

    private final LockAccess access;
    private final ServicePhase phase;
    private final ListenerDispatcher listeners;
    private final TakeoverPolicy policy;
    private final WaiterTickets.Place place;
    private final String name;
    private final RowListener row;

    /**
     * Creates a loop.
     *
     * @param place the place of the acquisition among the waiters of all nodes
     * @param row receives what the loop learns about the row of the lock
     */
    AcquireLoop(
            LockAccess access,
            ServicePhase phase,
            ListenerDispatcher listeners,
            TakeoverPolicy policy,
            WaiterTickets.Place place,
            RowListener row) {
        this.access = access;
        this.phase = phase;
        this.listeners = listeners;
        this.policy = policy;
        this.place = place;
        this.name = place.name();
        this.row = row;
    }

    /**
     * Attempts until the lock is granted or the deadline has passed, but at least once. After an inconclusive attempt, such as a
     * lost race, it continues until {@link Deadline#isOverForDecision}. A caller whose earlier transaction has ended is not refused
     * because the release that waited for it is still to come: this does the release then, and attempts once more.
     *
     * @return the result of the last attempt
     * @throws IllegalStateException if the service is closed, or if it is closing and the thread holds no lock
     * @throws InterruptedException if the deadline is interruptible and the thread was interrupted
     */
    AttemptResult repeat(Deadline deadline, Function<Deadline, AttemptResult> attempts) throws InterruptedException {
        try (Waiter waiter = access.waiterNotifier().waiter(place)) {
            boolean wasCleared = false;
            boolean isLastAttempt = false;
            while (true) {
                phase.checkAccepting();
                List<DueRelease> due =
                        isLastAttempt ? List.of() : access.inDoubtWrites().due(name);
                if (!place.isFair()) {
                    awaitOffer(deadline);
                }
                AttemptResult attempt = clearObstacle(attempts.apply(deadline), deadline);
                if (attempt instanceof TransientFailure && deadline.takeInterrupt()) {
                    continue;
                }
                tellQueue(attempt);
                if (attempt instanceof LostRace) {
                    listeners.tell(listener -> listener.overtaken(name));
                }
                boolean isOver = isDecision(attempt) ? deadline.isOver() : deadline.isOverForDecision();
                if (attempt instanceof Success success) {
                    waiter.granted(success);
                }
                boolean isRefused = isOver && (due.isEmpty() || attempt instanceof TransientFailure);
                if (isRefused || isLast(attempt)) {
                    return attempt;
                }
                if (isOver) {
                    finish(due);
                    isLastAttempt = true;
                    continue;
                }
                // After an obstacle was cleared, the next attempt follows at once. After a second obstacle in a row,
                // the loop pauses first.
                boolean isCleared = attempt instanceof Obstacle && !wasCleared;
                wasCleared = isCleared;
                if (!isCleared) {
                    waiter.pause(deadline, attempt instanceof Refusal refused ? refused : null);
                    if (waiter.mustRetry() && attempt instanceof Unavailable refused && refused.isHeld()) {
                        row.releasedByOther(refused.seen().row());
                    }
                }
            }
        }
    }

    /** Does releases of this service that refuse the caller. When one has taken long, the others are left to their own threads. */
    private void finish(List<DueRelease> due) {
        try (Deadline limit = Deadline.uninterruptible(access.ticker(), HoldRow.WRITE_LIMIT)) {
            due.stream().takeWhile(release -> !limit.isOver()).forEach(DueRelease::finish);
        }
    }

    private void awaitOffer(Deadline deadline) throws InterruptedException {
        Duration offered = access.queue().offered(name);
        while (!offered.isZero() && !deadline.isOver()) {
            deadline.pauseFor(offered);
            offered = access.queue().offered(name);
        }
    }

    /** Records whether the database could show who holds the lock, for the threads queued behind this one. */
    private void tellQueue(AttemptResult attempt) {
        if (!(attempt instanceof TransientFailure failed)) {
            access.queue().recordAttempt(name, null);
        } else if (isDecision(failed)) {
            access.queue().recordAttempt(name, failed.why());
        }
    }

    private static boolean isLast(AttemptResult attempt) {
        return attempt instanceof Success
                || attempt instanceof NotDue
                || attempt instanceof RowLockAcquired
                || attempt instanceof TooLate
                || attempt instanceof LimitTooLow
                || attempt instanceof PermanentFailure;
    }

    /** Whether the attempt is conclusive. Otherwise, the row must be read again. */
    private static boolean isDecision(AttemptResult attempt) {
        return attempt instanceof Refusal
                || attempt instanceof RowLockedByOther
                || (attempt instanceof TransientFailure failed
                        && !failed.why().failure().isUndecided());
    }

    /**
     * Converts the failure of a database call into a result. The call accessed the lock's row, and left no write in doubt. If the
     * call waited too long and another transaction still locks the row, that transaction holds the lock. A database that cannot skip
     * locked rows cannot be asked without another wait. There, the row counts as locked.
     */
    AttemptResult failed(StoreException failed, Deadline deadline) {
        return failed.failure() == Failure.BUSY && (!access.store().hasRowLocks() || probeRowLock(failed, deadline))
                ? new RowLockedByOther()
                : AttemptResult.failed(failed);
    }

    private boolean probeRowLock(StoreException failed, Deadline deadline) {
        try {
            return access.store()
                    .inTransaction(deadline.forOneStatement(), locks -> locks.findForUpdateSkipLocked(name))
                    .isEmpty();
        } catch (StoreException alsoFailed) {
            failed.addSuppressed(alsoFailed);
            return false;
        }
    }

    private AttemptResult clearObstacle(AttemptResult attempt, Deadline deadline) {
        LockStore store = access.store();
        try {
            if (attempt instanceof RowMissing) {
                // Bypasses Hibernate, which logs a warning for each error. An insert also fails if another node was
                // faster.
                access.autocommit(deadline.forOneStatement())
                        .createIfMissing(name)
                        .ifPresent(row::created);
            } else if (attempt instanceof SemaphoreMissing missing) {
                store.inTransaction(deadline.forOneStatement(), () -> {
                    store.permits().createIfMissing(name, missing.limit());
                    return missing;
                });
            } else if (attempt instanceof HolderNodeExpired overdue) {
                store.inTransaction(
                        deadline.forOneStatement(),
                        () -> store.nodes().endIfOverdue(overdue.nodeId(), policy.clockTolerance()));
            } else if (attempt instanceof LeftByDeadHolder deserted) {
                LockEntity left = deserted.row();
                // The result is ignored: the next read shows who was faster.
                store.inTransaction(
                        deadline.forOneStatement(),
                        locks -> locks.takeFromHolder(left, left.takenFromHolder(), policy.lockDelay()));
            }
            return attempt;
        } catch (StoreException failed) {
            return AttemptResult.failed(failed);
        }
    }
}
