package io.github.holdfast.service.engine.acquire;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.lock.WaiterInfo;
import io.github.holdfast.repository.ReadableDuration;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.repository.rows.WaiterRows.WaitMode;
import io.github.holdfast.service.engine.acquire.AttemptResult.Granted;
import io.github.holdfast.service.engine.acquire.AttemptResult.LostRace;
import io.github.holdfast.service.engine.acquire.AttemptResult.Obstacle;
import io.github.holdfast.service.engine.acquire.AttemptResult.Refusal;
import io.github.holdfast.service.engine.acquire.AttemptResult.RowLockedByOther;
import io.github.holdfast.service.engine.acquire.AttemptResult.TransientFailure;
import io.github.holdfast.service.engine.acquire.AttemptResult.Unavailable;
import io.github.holdfast.service.engine.hold.Hold;
import io.github.holdfast.service.engine.hold.KeptLocks;
import io.github.holdfast.service.engine.hold.LeaseHold;
import io.github.holdfast.service.engine.hold.PendingAcquisitions;
import io.github.holdfast.service.engine.row.HoldRow;
import io.github.holdfast.service.engine.row.InDoubtWrites.DueRelease;
import io.github.holdfast.service.engine.row.LockAccess;
import io.github.holdfast.service.engine.row.NewGrant;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.wait.Waiter;
import io.github.holdfast.service.engine.wait.WaiterTickets;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One outermost acquisition of a lock, a share or a row lock, and the loop of its attempts. Each round attempts, clears an obstacle, or
 * pauses. Obstacles are a missing row, an expired node, and a lock that a dead holder left. A pause needs no connection. Not thread-safe.
 *
 * @param <H> what it acquires
 */
public abstract class Acquisition<H extends Hold> implements PendingAcquisitions.Pending {

    /** Their pauses take about 12 ms together. */
    private static final int RECALL_ATTEMPTS = 2;

    /** How long after a recall another attempt is worth it. */
    private static final Duration RECALL = Duration.ofMillis(20);

    private final HoldContext context;
    private final LockAccess access;
    private final LockRequest request;
    private final WaitMode mode;
    private volatile @Nullable String owner;
    private final String holder;
    private final long since;
    private WaiterTickets.@Nullable Place place;
    private @Nullable Waiter waiter;
    private @Nullable AttemptResult last;

    /** Until when to attempt again even after the deadline, counted from its begin: the holder's service was asked for the lock. */
    private Duration recalledUntil = Duration.ZERO;

    /** How often to do that. */
    private int recallAttempts;

    /** The node that was asked for the lock; null if none was. */
    private @Nullable String recalledFrom;

    /**
     * An acquisition that has not begun.
     *
     * @param mode how other nodes see it while it waits
     * @param owner the owner that acquires; null for a new one, which is not made before it is needed
     */
    public Acquisition(HoldContext context, LockRequest request, WaitMode mode, @Nullable String owner) {
        this.context = context;
        this.access = context.access();
        this.request = request;
        this.mode = mode;
        this.owner = owner;
        this.holder = context.identity().current();
        this.since = access.ticker().nanoTime();
        if (request.isFair()) {
            // Fair requests of one process are in the order in which their places were created.
            place = access.waiterNotifier().fairPlace(request.name());
        }
    }

    /**
     * Tries until the grant or the deadline, but at least once. {@link #repeat} describes when it continues after the deadline.
     *
     * @return the hold, not yet registered; empty if nothing was granted
     * @throws LockStoreException if the database refused, or failed until the deadline
     * @throws LockLostException if the lease had expired before the database had answered
     * @throws InterruptedException if the deadline is interruptible and the thread was interrupted; nothing is held then
     */
    public abstract Optional<H> acquire(Deadline deadline) throws InterruptedException;

    /** Attempts once. */
    public abstract AttemptResult attempt(Deadline deadline);

    /**
     * Whether it waits in the queue of this process. A request with a chosen owner does not: its owner may already hold the lock, and would
     * queue behind threads that wait for that hold. A fair request has a place in the queue of all processes instead.
     */
    public boolean isQueued() {
        return request.owner().isEmpty() && !request.isFair();
    }

    /** The loop has created the lock's row. */
    public void created(LockEntity created) {}

    /** A notification says that the holder of this row has released the lock. */
    public void releasedByOther(LockEntity held) {}

    public final HoldContext context() {
        return context;
    }

    public final LockAccess access() {
        return access;
    }

    public final LockRequest request() {
        return request;
    }

    @Override
    public final String name() {
        return request.name();
    }

    @Override
    public final String owner() {
        String known = owner;
        return known == null ? makeOwner() : known;
    }

    private synchronized String makeOwner() {
        String made = owner;
        if (made == null) {
            made = context.identity().newOwner();
            owner = made;
        }
        return made;
    }

    /** Continues as the owner of a grant that this service has. */
    public final synchronized void continueAs(String ownerOfGrant) {
        owner = ownerOfGrant;
    }

    /** A readable description of the holder. */
    public final String holder() {
        return holder;
    }

    @Override
    public final WaiterInfo info() {
        return new WaiterInfo(name(), holder, Duration.ofNanos(access.ticker().nanoTime() - since));
    }

    /** The result of the last attempt; null if there was none. */
    public final @Nullable AttemptResult last() {
        return last;
    }

    /** Its place among the waiters of all nodes. */
    public final WaiterTickets.Place place() {
        WaiterTickets.Place taken = place;
        if (taken == null) {
            taken = access.waiterNotifier().place(name(), mode);
            place = taken;
        }
        return taken;
    }

    /** Notes the result of the last attempt, if it did not come from the loop. */
    public final void last(AttemptResult result) {
        last = result;
    }

    /**
     * Attempts until the lock is granted or the deadline has passed, but at least once. After an inconclusive attempt, such as a
     * lost race, it continues until {@link Deadline#isOverForDecision}. A caller whose earlier transaction has ended is not refused
     * because the release that waited for it is still to come: this does the release then, and attempts once more. The same holds for a row
     * that this service keeps or gives back.
     *
     * @return the result of the last attempt
     * @throws IllegalStateException if the service is closed, or if it is closing and the thread holds no lock
     * @throws InterruptedException if the deadline is interruptible and the thread was interrupted
     */
    public final AttemptResult repeat(Deadline deadline) throws InterruptedException {
        try {
            boolean wasCleared = false;
            boolean isLastAttempt = false;
            while (true) {
                context.phase().checkAccepting();
                List<DueRelease> due =
                        isLastAttempt ? List.of() : access.inDoubtWrites().due(name());
                KeptLocks.@Nullable Kept kept =
                        isLastAttempt ? null : context.kept().find(name());
                if (!request.isFair()) {
                    awaitOffer(deadline);
                }
                AttemptResult attempt = clearObstacle(attempt(deadline), deadline);
                if (attempt instanceof TransientFailure && deadline.takeInterrupt()) {
                    continue;
                }
                tellQueue(attempt);
                if (attempt instanceof LostRace) {
                    context.listeners().tell(listener -> listener.overtaken(name()));
                }
                boolean isOver = attempt.isDecision() ? deadline.isOver() : deadline.isOverForDecision();
                if (attempt instanceof Granted granted) {
                    tellWaiter(granted.grant());
                }
                recall(attempt, deadline);
                if (isOver && attempt instanceof Unavailable && takeRecallAttempt(deadline)) {
                    deadline.pause(null);
                    continue;
                }
                boolean isRefused = isOver && ((due.isEmpty() && kept == null) || attempt instanceof TransientFailure);
                if (isRefused || attempt.isLast()) {
                    last = attempt;
                    return attempt;
                }
                if (isOver) {
                    finish(due, kept);
                    isLastAttempt = true;
                    continue;
                }
                // After an obstacle was cleared, the next attempt follows at once. After a second obstacle in a row,
                // the loop pauses first.
                boolean isCleared = attempt instanceof Obstacle && !wasCleared;
                wasCleared = isCleared;
                if (!isCleared) {
                    pause(attempt, deadline);
                }
            }
        } finally {
            if (waiter != null) {
                waiter.close();
            }
        }
    }

    /** Asks the holder's service for the lock, once: it may have been released, and be kept. */
    private void recall(AttemptResult attempt, Deadline deadline) {
        if (attempt instanceof Unavailable refused && refused.isHeld()) {
            LockEntity held = refused.seen().row();
            if (!Objects.equals(held.nodeId(), recalledFrom) && context.kept().recall(held)) {
                recalledFrom = held.nodeId();
                recallAttempts = RECALL_ATTEMPTS;
                recalledUntil = deadline.elapsed().plus(RECALL);
            }
        }
    }

    /** Uses up one of the attempts after the deadline; returns false if none is left, or the recall is too long ago. */
    private boolean takeRecallAttempt(Deadline deadline) {
        return recallAttempts-- > 0 && deadline.elapsed().compareTo(recalledUntil) < 0;
    }

    private void tellWaiter(NewGrant grant) {
        Waiter paused = waiter;
        if (paused != null && grant instanceof NewGrant.OfShare) {
            paused.shareGranted();
        } else if (paused != null) {
            paused.granted();
        }
    }

    private void pause(AttemptResult attempt, Deadline deadline) throws InterruptedException {
        Waiter pausing = waiter;
        if (pausing == null) {
            pausing = access.waiterNotifier().waiter(place());
            waiter = pausing;
        }
        if (attempt instanceof Refusal refused) {
            pausing.pause(deadline, refused.seenAt(), refused.recheckAfter(), refused.timeUntilFree());
        } else {
            pausing.pause(deadline);
        }
        if (pausing.mustRetry() && attempt instanceof Unavailable refused && refused.isHeld()) {
            releasedByOther(refused.seen().row());
        }
    }

    /** Does releases of this service that refuse the caller. When one has taken long, the others are left to their own threads. */
    private void finish(List<DueRelease> due, KeptLocks.@Nullable Kept kept) throws InterruptedException {
        try (Deadline limit = Deadline.uninterruptible(access.ticker(), HoldRow.WRITE_LIMIT)) {
            due.stream().takeWhile(release -> !limit.isOver()).forEach(DueRelease::finish);
            if (kept != null) {
                context.kept().finish(kept, limit);
            }
        }
    }

    private void awaitOffer(Deadline deadline) throws InterruptedException {
        Duration offered = access.queue().offered(name());
        while (!offered.isZero() && !deadline.isOver()) {
            deadline.pauseFor(offered);
            offered = access.queue().offered(name());
        }
    }

    /** Records whether the database could show the holder of the lock, for the threads queued behind this one. */
    private void tellQueue(AttemptResult attempt) {
        if (!(attempt instanceof TransientFailure failed)) {
            access.queue().recordAttempt(name(), null);
        } else if (failed.isDecision()) {
            access.queue().recordAttempt(name(), failed.why());
        }
    }

    private AttemptResult clearObstacle(AttemptResult attempt, Deadline deadline) {
        if (attempt instanceof Obstacle obstacle) {
            try {
                obstacle.clear(access, context.policy(), deadline).ifPresent(this::created);
            } catch (StoreException failed) {
                return AttemptResult.failed(failed);
            }
        }
        return attempt;
    }

    /**
     * Converts the failure of a database call into a result. The call accessed the lock's row, and left no write in doubt. If the
     * call waited too long and another transaction still locks the row, that transaction holds the lock. A database that cannot skip
     * locked rows cannot be asked without another wait. There, the row counts as locked.
     */
    public final AttemptResult failed(StoreException failed, Deadline deadline) {
        return failed.failure() == Failure.BUSY && (!access.store().hasRowLocks() || probeRowLock(failed, deadline))
                ? new RowLockedByOther()
                : AttemptResult.failed(failed);
    }

    private boolean probeRowLock(StoreException failed, Deadline deadline) {
        try {
            return access.store()
                    .inTransaction(deadline.forOneStatement(), locks -> locks.findForUpdateSkipLocked(name()))
                    .isEmpty();
        } catch (StoreException alsoFailed) {
            failed.addSuppressed(alsoFailed);
            return false;
        }
    }

    /**
     * Checks a hold that was just granted.
     *
     * @return the hold
     * @throws LockLostException if its lease has expired already; it is released then
     */
    public static LeaseHold stillValid(LeaseHold hold, NewGrant granted) {
        if (hold.expireIfOver()) {
            ReleaseOutcome unused = hold.handle().release();
            throw new LockLostException(
                    hold.name(),
                    LossCause.EXPIRED,
                    "its lease of " + new ReadableDuration(granted.validFor()) + " ended before the database answered");
        }
        return hold;
    }
}
