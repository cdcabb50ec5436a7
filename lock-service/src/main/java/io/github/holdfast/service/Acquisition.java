package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockRepository;
import io.github.holdfast.repository.LockSnapshot;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.service.Attempt.Failed;
import io.github.holdfast.service.Attempt.GaveUp;
import io.github.holdfast.service.Attempt.Granted;
import io.github.holdfast.service.Attempt.Missing;
import io.github.holdfast.service.Attempt.Overtaken;
import io.github.holdfast.service.Attempt.Refused;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One outermost acquisition: the only loop in which a lock is waited for. An attempt reads the row, judges it, and writes
 * the grant if the lock is free; between two attempts it pauses without a connection. Not thread-safe.
 *
 * <p>A grant whose commit had no answer may have happened or may happen later. While the loop goes on, the row tells: an
 * owner that was made for this acquisition and stands in the row is adopted as it is, and a row that has moved on makes
 * the old grant impossible. When the loop gives up, the {@link Settler} makes it impossible.
 */
final class Acquisition {

    private final Internals internals;
    private final LockRequest request;
    private final Duration lease;
    private final String owner;
    private final String holder;

    /** What the last unanswered grant was decided on. */
    private @Nullable LockEntity unanswered;

    /** What the grant was decided on that the current attempt has sent. */
    private @Nullable LockEntity sent;

    /** Whether the current attempt saw that the unanswered grant is in the row or impossible. */
    private boolean hasMovedOn;

    private @Nullable LockSnapshot lastSeen;

    /**
     * An acquisition that has not begun.
     *
     * @param request with a lease
     * @param owner in whose name
     * @param holder who that is, for people
     */
    Acquisition(Internals internals, LockRequest request, String owner, String holder) {
        this.internals = internals;
        this.request = request;
        this.lease = request.lease().orElseThrow();
        this.owner = owner;
        this.holder = holder;
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
        Attempt last = null;
        try {
            last = repeat(patience);
        } finally {
            if (unanswered != null && !(last instanceof Granted)) {
                internals.settler().abandon(request.name(), ownOwner(), unanswered.version());
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
        lastSeen = last instanceof Refused refused ? refused.seen() : null;
        return Optional.empty();
    }

    /** What {@link #within} saw last when it found the lock to be somebody else's; null if it only lost races. */
    @Nullable
    LockSnapshot lastSeen() {
        return lastSeen;
    }

    private LockStoreException notAcquired(StoreException why) {
        return new LockStoreException(request.name(), "was not acquired, nor seen held by somebody else", why);
    }

    private Attempt repeat(Patience patience) throws InterruptedException {
        boolean rowWasMissing = false;
        while (true) {
            internals.held().checkOpen();
            Attempt attempt = attempt(patience);
            if (attempt instanceof Failed && patience.takeInterrupt()) {
                continue;
            }
            boolean isOver = isDecision(attempt) ? patience.isOver() : patience.isOverForDecision();
            if (isOver || attempt instanceof Granted || attempt instanceof GaveUp) {
                return attempt;
            }
            boolean rowWasCreated = attempt instanceof Missing && !rowWasMissing;
            rowWasMissing = attempt instanceof Missing;
            if (!rowWasCreated) {
                patience.pause(
                        attempt instanceof Refused refused ? refused.seen().timeUntilFree() : null);
            }
        }
    }

    /** Whether the attempt tells something about the lock, and not only that it must be looked at again. */
    private static boolean isDecision(Attempt attempt) {
        return attempt instanceof Refused
                || (attempt instanceof Failed failed && !failed.why().failure().isUndecided());
    }

    private Attempt attempt(Patience patience) {
        sent = null;
        hasMovedOn = false;
        try {
            Attempt attempt = internals.store().inTransaction(patience.forOneStatement(), this::judge);
            if (hasMovedOn) {
                unanswered = null;
            }
            if (attempt instanceof Missing) {
                internals
                        .store()
                        .inTransaction(patience.forOneStatement(), locks -> locks.createIfMissing(request.name()));
            }
            return attempt;
        } catch (StoreException failed) {
            if (!failed.failure().isTransient()) {
                return new GaveUp(failed);
            }
            if (sent != null && failed.failure().isAmbiguous()) {
                unanswered = sent;
                return ownOwner() == null ? provenNotSent(sent, failed, patience) : new Failed(failed);
            }
            return new Failed(failed);
        }
    }

    private Attempt judge(LockRepository locks) {
        long readAt = internals.ticker().nanoTime();
        Optional<LockSnapshot> seen = locks.read(request.name());
        LockEntity open = unanswered;
        if (open != null && (seen.isEmpty() || seen.get().row().version() != open.version())) {
            // With the unanswered grant or past it; what was read counts when the transaction has ended well.
            hasMovedOn = true;
        }
        if (seen.isEmpty()) {
            return new Missing();
        }
        return switch (seen.get().standing(owner)) {
            case FREE -> grant(locks, seen.get().row());
            case MINE -> ownOwner() == null ? reenter(locks, seen.get()) : adopt(seen.get(), readAt);
            case HELD, DELAYED, NODE_OVERDUE -> new Refused(seen.get());
        };
    }

    private Attempt grant(LockRepository locks, LockEntity row) {
        LockEntity after = row.granted(owner, null, holder);
        sent = row;
        long sentAt = internals.ticker().nanoTime();
        return locks.grant(row, after, lease, request.minimumHold().orElse(null))
                ? new Granted(after, sentAt, lease)
                : new Overtaken();
    }

    /** The owner was chosen by the user and has the lock already, in this process or another. */
    private Attempt reenter(LockRepository locks, LockSnapshot seen) {
        if (!request.isReentrant()) {
            return new Refused(seen);
        }
        LockEntity after = seen.row().reentered();
        sent = seen.row();
        long sentAt = internals.ticker().nanoTime();
        return locks.extend(seen.row(), after, lease) ? new Granted(after, sentAt, lease) : new Overtaken();
    }

    /** An earlier attempt of this acquisition had no answer, but was done. */
    private static Attempt adopt(LockSnapshot seen, long readAt) {
        Instant expiresAt = Objects.requireNonNull(seen.row().expiresAt(), "a lease has an end");
        return new Granted(seen.row(), readAt, Duration.between(seen.dbNow(), expiresAt));
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
        Hold hold = new Hold(internals, granted.row(), request, granted.validFrom(), granted.validFor());
        if (hold.isLost()) {
            hold.release();
            throw new LockLostException(
                    request.name(), "its lease of " + lease + " was over before the database had answered");
        }
        return hold;
    }

    /** The owner, if it was made for this acquisition and nobody else writes it; null if the user chose it. */
    private @Nullable String ownOwner() {
        return request.owner().isPresent() ? null : owner;
    }
}
