package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.LockRepository;
import io.github.holdfast.repository.LockSnapshot;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.service.Attempt.Deserted;
import io.github.holdfast.service.Attempt.Failed;
import io.github.holdfast.service.Attempt.GaveUp;
import io.github.holdfast.service.Attempt.Granted;
import io.github.holdfast.service.Attempt.Missing;
import io.github.holdfast.service.Attempt.NotWanted;
import io.github.holdfast.service.Attempt.Overdue;
import io.github.holdfast.service.Attempt.Overtaken;
import io.github.holdfast.service.Attempt.Refused;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One outermost acquisition of a lock that is held by its row. An attempt reads the row, judges it, and writes the grant if
 * the lock is free. Not thread-safe.
 *
 * <p>A grant whose commit had no answer may have happened or may happen later. While the loop goes on, the row tells: an
 * owner that was made for this acquisition and stands in the row is adopted as it is, and a row that has moved on makes
 * the old grant impossible. When the loop gives up, the {@link Settler} makes it impossible.
 */
final class Acquisition {

    private final Internals internals;
    private final LockRequest request;
    private final AcquireLoop loop;
    private final @Nullable Duration lease;
    private final String owner;
    private final String holder;
    private final GrantStep step;

    /** The node of this service, through which the lock is held if no lease was asked for; null if there is none. */
    private @Nullable Node node;

    /** How many reconciliations there had been before the current attempt. */
    private long reconciliations;

    /** What the last unanswered grant was decided on. */
    private @Nullable LockEntity unanswered;

    /** What the grant was decided on that the current attempt has sent. */
    private @Nullable LockEntity sent;

    /** The row that the current attempt was decided on without a look, because this process has written it last. */
    private @Nullable LockEntity own;

    private long runsSince;

    private boolean wasOvertaken;

    /** Whether the current attempt got as far as the lock's row. */
    private boolean hasAsked;

    /** Whether the current attempt saw that the unanswered grant is in the row or impossible. */
    private boolean hasMovedOn;

    private @Nullable Attempt last;

    /**
     * An acquisition that has not begun.
     *
     * @param owner in whose name
     * @param holder who that is, for people
     * @param step what belongs to the grant
     */
    Acquisition(Internals internals, LockRequest request, String owner, String holder, GrantStep step) {
        this.internals = internals;
        this.request = request;
        this.loop = new AcquireLoop(internals, request.name());
        this.lease = request.lease().orElse(null);
        this.owner = owner;
        this.holder = holder;
        this.step = step;
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
            Optional<Granted> inherited = inherited(patience);
            last = inherited.isPresent() ? inherited.get() : loop.repeat(patience, this::attempt);
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
        return Optional.empty();
    }

    /** How the last attempt came out; null if there was none. */
    @Nullable
    Attempt last() {
        return last;
    }

    private LockStoreException notAcquired(StoreException why) {
        return new LockStoreException(request.name(), "was not acquired, nor seen held by somebody else", why);
    }

    /**
     * Waits for another thread of this process to give the lock back, if one has it.
     *
     * @return the grant; empty if the lock must be asked for
     */
    private Optional<Granted> inherited(Patience patience) throws InterruptedException {
        Optional<Hold> holder = internals.held().ofName(request.name()).filter(Hold::isHeld);
        if (holder.isEmpty() || ownOwner() == null || patience.isOver()) {
            return Optional.empty();
        }
        try {
            prepare(patience);
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
        if (lease == null && (node == null || node.isOver())) {
            return Optional.empty();
        }
        reconciliations = internals.heartbeat().reconciliations();
        try {
            return grantWithoutLook(locks, row, since);
        } catch (StoreException failed) {
            if (failed.failure().isAmbiguous()) {
                unanswered = row;
            }
            throw failed;
        }
    }

    private void prepare(Patience patience) {
        Heartbeat heartbeat = internals.heartbeat();
        reconciliations = heartbeat.reconciliations();
        node = lease == null ? heartbeat.living(patience.forOneStatement()) : heartbeat.current();
    }

    private Attempt attempt(Patience patience) {
        own = null;
        sent = null;
        hasAsked = false;
        hasMovedOn = false;
        runsSince = internals.ticker().nanoTime();
        try {
            prepare(patience);
            Attempt attempt = decided(patience.forOneStatement());
            wasOvertaken = attempt instanceof Overtaken;
            if (hasMovedOn) {
                unanswered = null;
            }
            return attempt;
        } catch (StoreException failed) {
            if (sent != null && failed.failure().isAmbiguous()) {
                unanswered = sent;
                return ownOwner() == null ? provenNotSent(sent, failed, patience) : new Failed(failed);
            }
            // The transaction that has the row locked may be that of the unanswered grant.
            return hasAsked && unanswered == null ? loop.failed(failed, patience) : Attempt.failed(failed);
        }
    }

    private Attempt decided(Duration atMost) {
        if (wasOvertaken) {
            return internals.store().inTransaction(atMost, this::judgeLocked);
        }
        return step == GrantStep.NONE
                ? decided(internals.standalone(atMost))
                : internals.store().inTransaction(atMost, this::judge);
    }

    /** Without a look, if this process has left the row free, and after one if somebody has changed it since. */
    private Attempt decided(LockRepository locks) {
        Optional<Remembered.Row> remembered =
                unanswered == null ? internals.remembered().take(request.name()) : Optional.empty();
        return remembered
                .flatMap(row -> grantWithoutLook(locks, row.free(), row.runsSince()))
                .<Attempt>map(granted -> granted)
                .orElseGet(() -> judge(locks));
    }

    /** Grants the lock on its row as this process has written it last; empty if that is no longer how it stands. */
    private Optional<Granted> grantWithoutLook(LockRepository locks, LockEntity row, long since) {
        hasAsked = true;
        long now = runsSince;
        own = row;
        runsSince = since;
        if (grant(locks, row) instanceof Granted granted) {
            return Optional.of(granted);
        }
        own = null;
        sent = null;
        runsSince = now;
        return Optional.empty();
    }

    /** Who was too late once might be again and again, behind one that need not look. */
    private Attempt judgeLocked(LockRepository locks) {
        hasAsked = true;
        Optional<LockEntity> locked = locks.findForUpdate(request.name());
        return locked.isEmpty() ? new Missing() : judge(locks);
    }

    private Attempt judge(LockRepository locks) {
        hasAsked = true;
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
        LockEntity row = seen.get().row();
        return switch (seen.get().standing(owner, nodeId())) {
            case FREE -> take(locks, seen.get());
            case MINE -> ownOwner() == null ? reenter(locks, seen.get()) : adopt(seen.get(), readAt);
            case NODE_OVERDUE -> overdue(row);
            case HELD, DELAYED -> new Refused(seen.get());
        };
    }

    private static Attempt overdue(LockEntity row) {
        return new Overdue(Objects.requireNonNull(row.nodeId(), "only a node can be overdue"));
    }

    private Attempt take(LockRepository locks, LockSnapshot seen) {
        if (!step.isWanted(seen)) {
            return new NotWanted();
        }
        return isToBeDelayed(seen.row()) ? new Deserted(seen.row()) : grant(locks, seen.row());
    }

    /** Whether a dead holder left it, whose late deeds the next one is to be kept from. */
    private boolean isToBeDelayed(LockEntity row) {
        return row.owner() != null && !internals.lockDelay().isZero();
    }

    private Attempt grant(LockRepository locks, LockEntity row) {
        LockEntity after = row.granted(owner, lease == null ? nodeId() : null, holder);
        sent = row;
        long sentAt = internals.ticker().nanoTime();
        if (!locks.grant(row, after, lease, request.minimumHold().orElse(null))) {
            return new Overtaken();
        }
        step.granted(after);
        return granted(after, sentAt);
    }

    private Granted granted(LockEntity row, long sentAt) {
        Node through = through(row);
        Duration validFor = through == null ? lease : through.lease();
        return new Granted(
                row,
                through,
                sentAt,
                Objects.requireNonNull(validFor, "without a node there is a lease"),
                reconciliations,
                sent != null && sent != own && sent.acquiredAt() == null,
                runsSince);
    }

    /** The node that keeps what the row shows, if it is this acquisition's; null if that is a lease. */
    private @Nullable Node through(LockEntity row) {
        return row.nodeId() == null ? null : node;
    }

    private @Nullable String nodeId() {
        Node current = node;
        return current == null ? null : current.id();
    }

    /** The owner was chosen by the user and has the lock already, in this process or another. */
    private Attempt reenter(LockRepository locks, LockSnapshot seen) {
        if (!request.isReentrant()) {
            return new Refused(seen);
        }
        LockEntity before = seen.row();
        LockEntity after = before.reentered();
        sent = before;
        long sentAt = internals.ticker().nanoTime();
        boolean entered = before.nodeId() != null
                ? locks.recount(before, after)
                : locks.extend(before, after, LeaseValidity.required(request.name(), lease));
        return entered ? granted(after, sentAt) : new Overtaken();
    }

    /** An earlier attempt of this acquisition had no answer, but was done. */
    private Attempt adopt(LockSnapshot seen, long readAt) {
        return new Granted(
                seen.row(), through(seen.row()), readAt, seen.timeUntilOver(), reconciliations, false, runsSince);
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
        Hold hold = new Hold(internals, request, granted);
        if (hold.lifetime().isLost()) {
            hold.release();
            throw new LockLostException(
                    request.name(),
                    LossCause.EXPIRED,
                    "its lease of " + granted.validFor() + " was over before the database had answered");
        }
        tellIfTakenOver(hold.grant());
        return hold;
    }

    private void tellIfTakenOver(Grant grant) {
        LockEntity left = sent;
        if (left != null && left != own && left.owner() != null && left.fencingToken() != grant.fencingToken()) {
            internals.events().tell(l -> l.takenOver(grant.name(), grant.fencingToken(), left.holder()));
        }
    }

    /** The owner, if it was made for this acquisition and nobody else writes it; null if the user chose it. */
    private @Nullable String ownOwner() {
        return request.owner().isPresent() ? null : owner;
    }
}
