package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockRepository;
import io.github.holdfast.repository.LockSnapshot;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.service.Attempt.Deserted;
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
 * What one attempt, or a wait for the holder in the same process, makes of a lock's row, and the write that follows from it. Whatever
 * comes of that write, it tells what was sent. What asks the database throws {@link StoreException} if that
 * failed. Not thread-safe: the thread that waits has the holder's thread use it meanwhile.
 */
final class Judgement {

    private final Internals internals;
    private final Claim claim;

    /** What an earlier grant without an answer was decided on. */
    private final @Nullable LockEntity unanswered;

    /** How many reconciliations there had been before. */
    private long reconciliations;

    /** The node of this service, through which the lock is held if no lease was asked for; null if there is none. */
    private @Nullable Node node;

    /** What the grant that was sent was decided on. */
    private @Nullable LockEntity sent;

    /** The row that was judged without a look, because this process has written it last. */
    private @Nullable LockEntity own;

    private long runsSince;

    private boolean hasAsked;

    private boolean hasMovedOn;

    /** When the acquisition has begun, by the local time. */
    private final long begunAt;

    /**
     * One attempt.
     *
     * @param begunAt when the acquisition has begun, by the local time
     * @param unanswered what an earlier grant without an answer was decided on
     */
    Judgement(Internals internals, Claim claim, long begunAt, @Nullable LockEntity unanswered) {
        this.internals = internals;
        this.claim = claim;
        this.begunAt = begunAt;
        this.unanswered = unanswered;
        this.runsSince = internals.ticker().nanoTime();
    }

    /** Looks which node this service has; without a lease, one that can keep the lock, which may have to be registered. */
    void prepare(Patience patience) {
        Heartbeat heartbeat = internals.heartbeat();
        reconciliations = heartbeat.reconciliations();
        node = claim.lease() == null ? heartbeat.living(patience.forOneStatement()) : heartbeat.current();
    }

    /** Without a look, if this process has left the row free, and after one if somebody has changed it since. */
    Attempt attempt(LockRepository locks) {
        Optional<Remembered.Row> remembered =
                unanswered == null ? internals.remembered().take(claim.name()) : Optional.empty();
        return remembered
                .flatMap(row -> grantWithoutLook(locks, row.free(), row.runsSince()))
                .<Attempt>map(granted -> granted)
                .orElseGet(() -> attemptAfterLook(locks));
    }

    /** After a look at a row that nobody else can write meanwhile: who was too late once might be again and again. */
    Attempt attemptLocked(LockRepository locks) {
        hasAsked = true;
        Optional<LockEntity> locked = locks.findForUpdate(claim.name());
        if (locked.isEmpty()) {
            return new Missing();
        }
        Attempt attempt = attemptAfterLook(locks);
        Node through = node;
        return attempt instanceof Overtaken && claim.lease() == null && through != null
                ? withoutLivingNode(through)
                : attempt;
    }

    /**
     * Nobody else can have written the locked row, so what the grant missed is the node: it was ended, which its heartbeat finds out, or
     * this thread's connections do not lead where the heartbeat's do. There the lock would be everybody's, as if its holder were dead.
     */
    private Attempt withoutLivingNode(Node through) {
        boolean isAbsent = internals.store().nodes().read(through.id()).isEmpty();
        if (isAbsent && through.hasBeatenSince(begunAt)) {
            return new GaveUp(StoreException.nodeIsElsewhere());
        }
        internals.heartbeat().beatSoon();
        return new Overtaken();
    }

    /**
     * Grants the lock while another thread, which holds it, gives it back.
     *
     * @param row as that thread has written it last
     * @return empty if the row was not as it was written last, or there is no node that lives
     */
    Optional<Granted> inherit(LockRepository locks, LockEntity row, long since) {
        if (claim.lease() == null && (node == null || node.isOver())) {
            return Optional.empty();
        }
        reconciliations = internals.heartbeat().reconciliations();
        return grantWithoutLook(locks, row, since);
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

    Attempt attemptAfterLook(LockRepository locks) {
        hasAsked = true;
        long readAt = internals.ticker().nanoTime();
        Optional<LockSnapshot> seen = locks.read(claim.name());
        LockEntity open = unanswered;
        if (open != null && (seen.isEmpty() || seen.get().row().version() != open.version())) {
            // With the unanswered grant or past it; what was read counts when the transaction has ended well.
            hasMovedOn = true;
        }
        if (seen.isEmpty()) {
            return new Missing();
        }
        LockEntity row = seen.get().row();
        return switch (seen.get().standing(claim.owner(), nodeId(), internals.clockTolerance())) {
            case FREE -> take(locks, seen.get());
            case MINE -> claim.ownOwner() == null ? reenter(locks, seen.get()) : adopt(locks, seen.get(), readAt);
            case NODE_OVERDUE -> overdue(row);
            case HELD, DELAYED -> new Refused(seen.get(), internals.clockTolerance());
        };
    }

    private static Attempt overdue(LockEntity row) {
        return new Overdue(Objects.requireNonNull(row.nodeId(), "only a node can be overdue"));
    }

    private Attempt take(LockRepository locks, LockSnapshot seen) {
        if (!claim.step().isWanted(seen)) {
            return new NotWanted();
        }
        return isToBeDelayed(seen.row()) ? new Deserted(seen.row()) : grant(locks, seen.row());
    }

    /** Whether a dead holder left it, whose late deeds the next one is to be kept from. */
    private boolean isToBeDelayed(LockEntity row) {
        return row.owner() != null && !internals.lockDelay().isZero();
    }

    private Attempt grant(LockRepository locks, LockEntity row) {
        Duration lease = claim.lease();
        LockEntity after = row.granted(claim.owner(), lease == null ? nodeId() : null, claim.holder());
        sent = row;
        long sentAt = internals.ticker().nanoTime();
        if (!locks.grant(row, after, lease, claim.request().minimumHold().orElse(null))) {
            return new Overtaken();
        }
        claim.step().granted(after);
        return granted(after, sentAt);
    }

    /** The owner was chosen by the user and has the lock already, in this process or another. */
    private Attempt reenter(LockRepository locks, LockSnapshot seen) {
        if (!claim.request().isReentrant()) {
            return new Refused(seen, internals.clockTolerance());
        }
        LockEntity before = seen.row();
        LockEntity after = before.reentered();
        sent = before;
        long sentAt = internals.ticker().nanoTime();
        boolean entered = before.nodeId() != null
                ? locks.recount(before, after)
                : locks.extend(before, after, LeaseValidity.required(claim.name(), claim.lease()));
        return entered ? granted(after, sentAt) : new Overtaken();
    }

    private Granted granted(LockEntity row, long sentAt) {
        Node through = through(row);
        Duration validFor = through == null ? claim.lease() : through.lease();
        return new Granted(
                row,
                through,
                sentAt,
                Objects.requireNonNull(validFor, "without a node there is a lease"),
                reconciliations,
                sent != null && sent != own && sent.acquiredAt() == null,
                runsSince);
    }

    /**
     * An earlier attempt of this acquisition had no answer, but was done. That its row is seen does not mean that a standby has it, and a
     * failover would undo it; that a later write is answered does.
     */
    private Attempt adopt(LockRepository locks, LockSnapshot seen, long readAt) {
        LockEntity before = seen.row();
        LockEntity after = before.heldTimes(before.holdCount());
        sent = before;
        if (!locks.recount(before, after)) {
            // The row is still to be looked after: what was faster may have been an earlier one of these writes.
            hasMovedOn = false;
            return new Overtaken();
        }
        return new Granted(after, through(after), readAt, seen.timeUntilOver(), reconciliations, false, runsSince);
    }

    /** The node that keeps what the row shows, if it is this service's; null if that is a lease. */
    private @Nullable Node through(LockEntity row) {
        return row.nodeId() == null ? null : node;
    }

    private @Nullable String nodeId() {
        Node current = node;
        return current == null ? null : current.id();
    }

    /** What the last write was decided on, whether it was executed or not; null if none was sent that may have been. */
    @Nullable
    LockEntity sent() {
        return sent;
    }

    /** What the row was before the lock was granted; null if that was not looked at. */
    @Nullable
    LockEntity replaced() {
        return sent == own ? null : sent;
    }

    /** Whether it got as far as the lock's row. */
    boolean hasAsked() {
        return hasAsked;
    }

    /** Whether it saw that the unanswered grant is in the row or impossible. */
    boolean hasMovedOn() {
        return hasMovedOn;
    }
}
