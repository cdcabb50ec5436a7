package io.github.holdfast.service.engine;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.LockRows;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.service.engine.AttemptResult.Failed;
import io.github.holdfast.service.engine.AttemptResult.Granted;
import io.github.holdfast.service.engine.AttemptResult.LostRace;
import io.github.holdfast.service.engine.AttemptResult.PermanentFailure;
import io.github.holdfast.service.engine.AttemptResult.Shared;
import io.github.holdfast.service.engine.AttemptResult.SharedByOthers;
import io.github.holdfast.service.engine.AttemptResult.TransientFailure;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One outermost acquisition of a lock with a lease or through a node. Each attempt is a new {@link GrantAttempt}. Not
 * thread-safe.
 *
 * <p>A grant without an answer may have happened, or may still happen. While the loop continues, the row resolves the doubt. If
 * the row shows the owner that was generated for this acquisition, the next attempt adopts the grant. If the row has a new
 * version, the old grant is impossible. When the loop gives up, {@link InDoubtWrites} makes the grant impossible.
 */
final class LeaseAcquisition implements Acquisition, HandOffWaiter.Candidate, AcquireLoop.RowListener {

    private final HoldContext context;
    private final LockAccess access;
    private final LeaseClaim claim;
    private final AcquireLoop loop;
    private final SharedHolders sharedHolders;

    /** The row that the last unanswered grant was based on. */
    private @Nullable LockEntity unanswered;

    /** The greatest token that an unanswered grant may have given; 0 if there was none. */
    private long doubtfulToken;

    private boolean wasOvertaken;

    /** The latest attempt. */
    private @Nullable GrantAttempt attempt;

    private @Nullable AttemptResult last;

    /** An acquisition that has not begun. */
    LeaseAcquisition(HoldContext context, LeaseClaim claim) {
        this.context = context;
        this.access = context.access();
        this.claim = claim;
        this.loop =
                new AcquireLoop(access, context.phase(), context.listeners(), context.policy(), claim.place(), this);
        this.sharedHolders = new SharedHolders(context, claim.name());
    }

    @Override
    public Optional<LeaseHold> acquire(Deadline deadline) throws InterruptedException {
        try {
            Optional<AttemptResult> inherited = awaitHandOff(deadline);
            last = inherited.isPresent() ? inherited.get() : loop.repeat(deadline, this::attempt);
        } finally {
            if (unanswered != null && !(last instanceof Granted)) {
                access.inDoubtWrites().abandon(claim.name(), claim.ownOwner(), unanswered.version());
            }
            if (!(last instanceof Granted)) {
                sharedHolders.giveUp();
            }
        }
        if (last instanceof Granted granted) {
            return Optional.of(hold(granted));
        }
        if (last instanceof Failed failed) {
            throw new LockStoreException(claim.name(), "was not acquired, and no other holder was seen", failed.why());
        }
        return Optional.empty();
    }

    @Override
    public @Nullable AttemptResult last() {
        return last;
    }

    /**
     * Waits for a hand-off, if another thread of this process holds the lock.
     *
     * @return the grant, or {@link AttemptResult.HandOffUnanswered} if that thread is still writing it; empty if the lock must be
     *     acquired from the database
     */
    private Optional<AttemptResult> awaitHandOff(Deadline deadline) throws InterruptedException {
        Optional<LeaseHold> holder = context.holds().ofName(claim.name()).filter(LeaseHold::isHeld);
        if (holder.isEmpty() || claim.ownOwner() == null || claim.request().isFair() || deadline.isOver()) {
            return Optional.empty();
        }
        try {
            newAttempt().prepare(deadline);
        } catch (StoreException failed) {
            // The loop asks the database again, and reports a lasting failure.
            return Optional.empty();
        }
        HandOffWaiter waiter = new HandOffWaiter(context.phase(), access.ticker(), this);
        holder.get().expect(waiter);
        return waiter.await(holder.get()::isHeld, deadline);
    }

    @Override
    public Optional<Granted> acquireByHandOff(LockRows locks, LockEntity row, long since) {
        try {
            return Objects.requireNonNull(attempt, "a waiter has an attempt").acquireByHandOff(locks, row, since);
        } catch (RuntimeException | Error thrown) {
            if (!(thrown instanceof StoreException failed) || failed.failure().isAmbiguous()) {
                doubt(row);
            }
            throw thrown;
        }
    }

    @Override
    public String name() {
        return claim.name();
    }

    @Override
    public String owner() {
        return claim.owner();
    }

    @Override
    public String holder() {
        return claim.holder();
    }

    /** Notes that the outcome of a write based on this row is unknown. */
    private void doubt(LockEntity decidedOn) {
        unanswered = decidedOn;
        doubtfulToken = Math.max(doubtfulToken, decidedOn.fencingToken()) + 1;
    }

    private GrantAttempt newAttempt() {
        GrantAttempt begun =
                new GrantAttempt(access, context.heartbeat(), context.policy(), claim, unanswered, doubtfulToken);
        attempt = begun;
        return begun;
    }

    /** {@inheritDoc} The next attempt grants without a look. */
    @Override
    public void created(LockEntity created) {
        if (canOmitLook()) {
            access.freeRows().created(created, access.ticker().nanoTime());
        }
    }

    /** {@inheritDoc} The next attempt grants without a look, if the release was the only change. */
    @Override
    public void releasedByOther(LockEntity held) {
        if (canOmitLook()) {
            access.freeRows().expectReleased(held, access.ticker().nanoTime());
        }
    }

    private boolean canOmitLook() {
        return claim.step() == GrantStep.NONE && !claim.request().isFair();
    }

    private AttemptResult attempt(Deadline deadline) {
        GrantAttempt current = newAttempt();
        try {
            current.prepare(deadline);
            AttemptResult result = execute(current, deadline.forOneStatement());
            if (result instanceof Shared shared) {
                result = takeFromShared(current, shared, deadline);
            }
            wasOvertaken = result instanceof LostRace;
            if (current.hasMovedOn()) {
                unanswered = null;
            }
            return result;
        } catch (StoreException failed) {
            LockEntity sent = current.sent();
            if (sent != null && failed.failure().isAmbiguous()) {
                doubt(sent);
                return claim.ownOwner() == null ? provenNotSent(sent, failed, deadline) : new TransientFailure(failed);
            }
            // If a grant is unanswered, its own transaction may have locked the row.
            return current.hasAsked() && unanswered == null
                    ? loop.failed(failed, deadline)
                    : AttemptResult.failed(failed);
        } catch (RuntimeException | Error thrown) {
            // The database may have executed the statement, whatever the driver has thrown.
            LockEntity sent = current.sent();
            if (sent != null) {
                doubt(sent);
            }
            throw thrown;
        }
    }

    /** Takes a lock that was shared, unless it has holders. Any shared grant since the look would have changed the row's version. */
    private AttemptResult takeFromShared(GrantAttempt current, Shared shared, Deadline deadline) {
        Optional<AttemptResult> holders = sharedHolders.findBlockers(shared.seen(), deadline);
        if (holders.isPresent()) {
            if (holders.get() instanceof SharedByOthers refused) {
                sharedHolders.reserve(refused, deadline);
            }
            return holders.get();
        }
        Duration atMost = deadline.forOneStatement();
        return claim.step() == GrantStep.NONE
                ? current.take(access.autocommit(atMost), shared.seen())
                : access.store().inTransaction(atMost, locks -> current.take(locks, shared.seen()));
    }

    private AttemptResult execute(GrantAttempt current, Duration atMost) {
        if (wasOvertaken) {
            return access.store().inTransaction(atMost, current::attemptLocked);
        }
        return claim.step() == GrantStep.NONE
                ? current.attempt(access.autocommit(atMost))
                : access.store().inTransaction(atMost, current::attemptAfterRead);
    }

    /**
     * Settles an unanswered write for an owner that other processes may use too. The row cannot show which process wrote it. So
     * this changes the version on which the write was based. If that succeeds, the write has not happened, and never will.
     */
    private AttemptResult provenNotSent(LockEntity before, StoreException failed, Deadline deadline) {
        try {
            boolean superseded =
                    access.autocommit(deadline.forOneStatement()).supersede(before.name(), before.version());
            unanswered = null;
            return superseded ? new LostRace() : new PermanentFailure(failed);
        } catch (StoreException alsoFailed) {
            failed.addSuppressed(alsoFailed);
            return new PermanentFailure(failed);
        }
    }

    private LeaseHold hold(Granted granted) {
        LeaseHold hold = Acquisition.stillValid(hold(context, claim.request(), granted), granted.term());
        tellIfTakenOver(hold.grant());
        return hold;
    }

    /** The hold of a lock that was just granted for this request. The row of the grant has an owner. */
    static LeaseHold hold(HoldContext context, LockRequest request, Granted granted) {
        LockRow row =
                new LockRow(context.access(), granted.row(), request.owner().isPresent());
        HandOff handOff = new HandOff(context.access(), context.pending(), context.phase(), row, granted.runsSince());
        return new LeaseHold(
                context.forHolds(),
                request,
                granted,
                row,
                handOff,
                (hold, handle) -> new Downgrade(context, hold).of(handle));
    }

    private void tellIfTakenOver(Grant grant) {
        LockEntity left = attempt == null ? null : attempt.replaced();
        if (left != null && left.owner() != null && !left.isShared() && left.fencingToken() != grant.fencingToken()) {
            context.listeners().tell(l -> l.takenOver(grant.name(), grant.fencingToken(), left.holder()));
        }
    }
}
