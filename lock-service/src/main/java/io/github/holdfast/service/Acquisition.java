package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.LockRepository;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.service.Attempt.Failed;
import io.github.holdfast.service.Attempt.GaveUp;
import io.github.holdfast.service.Attempt.Granted;
import io.github.holdfast.service.Attempt.Missing;
import io.github.holdfast.service.Attempt.Overtaken;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One outermost acquisition of a lock that is held by its row. Each attempt has a {@link Judgement} of its own. Not thread-safe.
 *
 * <p>A grant whose commit had no answer may have happened or may happen later. While the loop goes on, the row tells: an
 * owner that was made for this acquisition and stands in the row is adopted as it is, and a row that has moved on makes
 * the old grant impossible. When the loop gives up, the {@link Settler} makes it impossible.
 */
final class Acquisition {

    private final Internals internals;
    private final Claim claim;
    private final AcquireLoop loop;
    private final long begunAt;

    /** What the last unanswered grant was decided on. */
    private @Nullable LockEntity unanswered;

    private boolean wasOvertaken;

    /** The latest. */
    private @Nullable Judgement judgement;

    private @Nullable Attempt last;

    /** An acquisition that has not begun. */
    Acquisition(Internals internals, Claim claim) {
        this.internals = internals;
        this.claim = claim;
        this.loop = new AcquireLoop(internals, claim.name());
        this.begunAt = internals.ticker().nanoTime();
    }

    /**
     * Tries until the lock is granted or the patience is over; at least once, and until the row was seen held or free.
     *
     * @return the hold; empty if the lock is somebody else's
     * @throws LockStoreException if the database refused, or failed until the patience was over
     * @throws LockLostException if the lease was over before the database had answered
     * @throws InterruptedException if the patience is interruptible and the thread was interrupted; nothing is held then
     */
    Optional<Hold> within(Patience patience) throws InterruptedException {
        try {
            Optional<Attempt> inherited = inherited(patience);
            last = inherited.isPresent() ? inherited.get() : loop.repeat(patience, this::attempt);
        } finally {
            if (unanswered != null && !(last instanceof Granted)) {
                internals.settler().abandon(claim.name(), claim.ownOwner(), unanswered.version());
            }
        }
        if (last instanceof Granted granted) {
            return Optional.of(hold(granted));
        }
        if (last instanceof Failed failed) {
            throw notAcquired(failed.why());
        }
        if (last instanceof GaveUp gaveUp) {
            throw notAcquired(gaveUp.why());
        }
        if (last instanceof Missing) {
            throw notAcquired(StoreException.invisible());
        }
        return Optional.empty();
    }

    /** How the last attempt came out; null if there was none. */
    @Nullable
    Attempt last() {
        return last;
    }

    private LockStoreException notAcquired(StoreException why) {
        return new LockStoreException(claim.name(), "was not acquired, nor seen held by somebody else", why);
    }

    /**
     * Waits for another thread of this process to give the lock back, if one has it.
     *
     * @return the grant, or that it was left to that thread; empty if the lock must be asked for
     */
    private Optional<Attempt> inherited(Patience patience) throws InterruptedException {
        Optional<Hold> holder = internals.held().ofName(claim.name()).filter(Hold::isHeld);
        if (holder.isEmpty() || claim.ownOwner() == null || patience.isOver()) {
            return Optional.empty();
        }
        try {
            begun().prepare(patience);
        } catch (StoreException failed) {
            // Whether anybody else could tell who has the lock, the loop finds out.
            return Optional.empty();
        }
        return new Heir(internals, this).await(holder.get(), patience);
    }

    /**
     * Grants the lock to this acquisition; for another thread, which holds it, while this one's waits.
     *
     * @param row as that thread has written it last
     * @return empty if the row was not as it was written last, or there is no node that lives
     * @throws StoreException if the database failed
     */
    Optional<Granted> inherit(LockRepository locks, LockEntity row, long since) {
        try {
            return Objects.requireNonNull(judgement, "has waited").inherit(locks, row, since);
        } catch (StoreException failed) {
            if (failed.failure().isAmbiguous()) {
                unanswered = row;
            }
            throw failed;
        } catch (RuntimeException | Error thrown) {
            unanswered = row;
            throw thrown;
        }
    }

    /** In whose name it is. */
    String owner() {
        return claim.owner();
    }

    private Judgement begun() {
        Judgement begun = new Judgement(internals, claim, begunAt, unanswered);
        judgement = begun;
        return begun;
    }

    private Attempt attempt(Patience patience) {
        Judgement current = begun();
        try {
            current.prepare(patience);
            Attempt attempt = executed(current, patience.forOneStatement());
            wasOvertaken = attempt instanceof Overtaken;
            if (current.hasMovedOn()) {
                unanswered = null;
            }
            return attempt;
        } catch (StoreException failed) {
            LockEntity sent = current.sent();
            if (sent != null && failed.failure().isAmbiguous()) {
                unanswered = sent;
                return claim.ownOwner() == null ? provenNotSent(sent, failed, patience) : new Failed(failed);
            }
            // The transaction that has the row locked may be that of the unanswered grant.
            return current.hasAsked() && unanswered == null ? loop.failed(failed, patience) : Attempt.failed(failed);
        } catch (RuntimeException | Error thrown) {
            // Whatever a driver has thrown, the statement may have been executed.
            unanswered = current.sent() == null ? unanswered : current.sent();
            throw thrown;
        }
    }

    private Attempt executed(Judgement current, Duration atMost) {
        if (wasOvertaken) {
            return internals.store().inTransaction(atMost, current::attemptLocked);
        }
        return claim.step() == GrantStep.NONE
                ? current.attempt(internals.standalone(atMost))
                : internals.store().inTransaction(atMost, current::attemptAfterLook);
    }

    /**
     * After an unanswered write for an owner that other processes may use too, the row cannot tell whose write it shows.
     * If the row can still be moved on from what the write was decided on, the write has not happened and never will.
     */
    private Attempt provenNotSent(LockEntity before, StoreException failed, Patience patience) {
        try {
            boolean superseded = internals
                    .store()
                    .inTransaction(
                            patience.forOneStatement(), locks -> locks.supersede(before.name(), before.version()));
            unanswered = null;
            return superseded ? new Overtaken() : new GaveUp(failed);
        } catch (StoreException alsoFailed) {
            failed.addSuppressed(alsoFailed);
            return new GaveUp(failed);
        }
    }

    private Hold hold(Granted granted) {
        Hold hold = new Hold(internals, claim.request(), granted);
        if (hold.lifetime().isLost()) {
            hold.end().release();
            throw new LockLostException(
                    claim.name(),
                    LossCause.EXPIRED,
                    "its lease of " + granted.validFor() + " was over before the database had answered");
        }
        tellIfTakenOver(hold.grant());
        return hold;
    }

    private void tellIfTakenOver(Grant grant) {
        LockEntity left = judgement == null ? null : judgement.replaced();
        if (left != null && left.owner() != null && left.fencingToken() != grant.fencingToken()) {
            internals.events().tell(l -> l.takenOver(grant.name(), grant.fencingToken(), left.holder()));
        }
    }
}
