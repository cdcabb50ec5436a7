package io.github.holdfast.service.engine.share;

import io.github.holdfast.entity.LockHolder;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.rows.HolderRows;
import io.github.holdfast.repository.rows.HolderRows.Claim;
import io.github.holdfast.repository.rows.HolderRows.HolderSnapshot;
import io.github.holdfast.repository.rows.WaiterRows.WaitMode;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.service.engine.acquire.Acquisition;
import io.github.holdfast.service.engine.acquire.AttemptResult;
import io.github.holdfast.service.engine.acquire.AttemptResult.Failed;
import io.github.holdfast.service.engine.acquire.AttemptResult.Granted;
import io.github.holdfast.service.engine.acquire.AttemptResult.LostRace;
import io.github.holdfast.service.engine.acquire.AttemptResult.Refusal;
import io.github.holdfast.service.engine.acquire.GrantAttempt;
import io.github.holdfast.service.engine.acquire.HoldContext;
import io.github.holdfast.service.engine.hold.LeaseHold;
import io.github.holdfast.service.engine.node.Node;
import io.github.holdfast.service.engine.row.HolderRow;
import io.github.holdfast.service.engine.row.InDoubtWrites;
import io.github.holdfast.service.engine.row.NewGrant;
import io.github.holdfast.service.engine.runtime.Deadline;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * One acquisition of a share: of permits, or of a shared lock. Each attempt checks whether it can be granted, and then writes the
 * grant. Not thread-safe.
 *
 * <p>A grant without an answer may have happened, or may still happen. The next attempt makes it impossible, and then checks whether
 * it has happened. When the loop gives up, {@link InDoubtWrites} does the same.
 */
abstract class ShareAcquisition extends Acquisition<LeaseHold> {

    /** The node of the present attempt; null if the share gets a lease. */
    private @Nullable Node node;

    /** The number of reconciliations that had begun before the present attempt. */
    private long reconciliations;

    /** The version that a grant in doubt was based on; null if there is none. */
    private @Nullable Long inDoubt;

    /** Whether no earlier holder can have committed what the holder of this grant must see. */
    private Predicate<Grant> isFirst = granted -> false;

    private boolean wasOvertaken;

    private boolean hasWaited;

    /** An acquisition that has not begun. Its owner is generated. */
    ShareAcquisition(HoldContext context, LockRequest request, WaitMode mode) {
        super(context, request, mode, context.identity().newOwner());
    }

    @Override
    public Optional<LeaseHold> acquire(Deadline deadline) throws InterruptedException {
        AttemptResult result;
        try {
            result = repeat(deadline);
        } finally {
            Long version = inDoubt;
            if (version != null) {
                access().inDoubtWrites().abandonShare(name(), owner(), version);
            }
        }
        if (result instanceof Granted granted) {
            NewGrant.OfShare share = (NewGrant.OfShare) granted.grant();
            return Optional.of(stillValid(hold(share), share));
        }
        if (result instanceof Failed failed) {
            throw new LockStoreException(name(), "was not acquired, and no other holder was seen", failed.why());
        }
        return Optional.empty();
    }

    /** Makes the hold of a share that was just granted. */
    LeaseHold hold(NewGrant.OfShare granted) {
        return LeaseHold.ofShare(context().forHolds(), request(), granted, new HolderRow(access(), granted.grant()));
    }

    @Override
    public final AttemptResult attempt(Deadline deadline) {
        context().kept().giveBack(name());
        try {
            node = node(deadline);
            reconciliations = context().heartbeat().reconciliations();
            Optional<NewGrant.OfShare> settled = settle(deadline);
            AttemptResult result = settled.isPresent() ? new Granted(settled.get()) : decide(deadline);
            wasOvertaken = result instanceof LostRace;
            hasWaited |= result instanceof Refusal;
            return result;
        } catch (StoreException failed) {
            // If a grant is in doubt, its own transaction may have locked the row.
            return inDoubt == null ? failed(failed, deadline) : AttemptResult.failed(failed);
        }
    }

    /** The node through which the share is to be held; null if it gets a lease. Registers one if there is none. */
    private @Nullable Node node(Deadline deadline) {
        if (request().lease().isPresent()) {
            return null;
        }
        Node living = context().heartbeat().living(deadline.forOneStatement());
        living.expectShares();
        return living;
    }

    /** How many permits of a semaphore it requests; 0 for a lock. */
    abstract int wantedPermits();

    /** Reads, and then grants or refuses. */
    abstract AttemptResult decide(Deadline deadline);

    /**
     * Writes a grant.
     *
     * @param permits how many permits
     * @param version the version of the row that the decision was based on
     * @param first whether no earlier holder can have committed what the holder of this grant must see
     * @param write writes the grant, in a transaction
     */
    final AttemptResult grant(
            int permits,
            long version,
            Predicate<Grant> first,
            BiFunction<Claim, Long, Optional<Grant>> write,
            Deadline deadline) {
        Node through = node;
        Duration lease = request().lease().orElse(null);
        Claim claim = new Claim(name(), owner(), through == null ? null : through.id(), permits, lease, holder());
        isFirst = first;
        long sentAt = access().ticker().nanoTime();
        Optional<Grant> granted;
        try {
            granted = store().inTransaction(deadline.forOneStatement(), () -> write.apply(claim, version));
        } catch (RuntimeException | Error thrown) {
            if (StoreException.leavesDoubt(thrown)) {
                inDoubt = version;
            }
            throw thrown;
        }
        if (granted.isPresent()) {
            return new Granted(granted(granted.get(), sentAt, NewGrant.lease(through, lease)));
        }
        return wasOvertaken && through != null
                ? store().inTransaction(
                                deadline.forOneStatement(),
                                () -> GrantAttempt.lostRaceThrough(
                                        through, store(), context().heartbeat()))
                : new LostRace();
    }

    /** Wakes the next one, if this one has waited: a release may have made room for several, but wakes only one service. */
    final void wakeNext() {
        if (hasWaited) {
            access().waiterNotifier().wakeNext(name());
        }
    }

    /**
     * Settles a grant without an answer, if there is one: makes it impossible, and then checks whether it has happened. A failover could
     * undo what a read shows, so the holder's row is written.
     *
     * @return the grant; empty if it has not happened, or its holder is dead
     */
    private Optional<NewGrant.OfShare> settle(Deadline deadline) {
        Long version = inDoubt;
        if (version == null) {
            return Optional.empty();
        }
        long askedAt = access().ticker().nanoTime();
        Optional<HolderSnapshot> granted = store().inTransaction(deadline.forOneStatement(), () -> {
            permits().supersede(name(), version);
            Optional<HolderSnapshot> mine = permits().holder(name(), owner());
            if (mine.isPresent() && !isUsable(mine.get())) {
                permits().release(mine.get().grant());
                return Optional.<HolderSnapshot>empty();
            }
            return mine.filter(seen -> permits().touch(seen.grant()));
        });
        inDoubt = null;
        Node through = node;
        return granted.map(
                seen -> granted(seen.grant(), askedAt, through == null ? seen.timeUntilOver() : through.lease()));
    }

    private NewGrant.OfShare granted(Grant grant, long validFrom, Duration validFor) {
        return new NewGrant.OfShare(
                grant, node, validFrom, validFor, reconciliations, wantedPermits(), isFirst.test(grant));
    }

    private boolean isUsable(HolderSnapshot seen) {
        Node through = node;
        // The service itself judges its node.
        return seen.state(Duration.ZERO, own -> false) == LockHolder.State.ALIVE
                && Objects.equals(seen.holder().nodeId(), through == null ? null : through.id());
    }

    final LockStore store() {
        return access().store();
    }

    final HolderRows permits() {
        return access().store().permits();
    }
}
