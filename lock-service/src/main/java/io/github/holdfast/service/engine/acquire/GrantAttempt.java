package io.github.holdfast.service.engine.acquire;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.rows.LockRows;
import io.github.holdfast.repository.rows.LockSnapshot;
import io.github.holdfast.repository.rows.TransactionalLockRows;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.service.engine.acquire.AttemptResult.Granted;
import io.github.holdfast.service.engine.acquire.AttemptResult.HolderNodeExpired;
import io.github.holdfast.service.engine.acquire.AttemptResult.LeftByDeadHolder;
import io.github.holdfast.service.engine.acquire.AttemptResult.LostRace;
import io.github.holdfast.service.engine.acquire.AttemptResult.NotDue;
import io.github.holdfast.service.engine.acquire.AttemptResult.PermanentFailure;
import io.github.holdfast.service.engine.acquire.AttemptResult.RowMissing;
import io.github.holdfast.service.engine.acquire.AttemptResult.Shared;
import io.github.holdfast.service.engine.acquire.AttemptResult.Unavailable;
import io.github.holdfast.service.engine.acquire.HoldContext.TakeoverPolicy;
import io.github.holdfast.service.engine.hold.LeaseExpiry;
import io.github.holdfast.service.engine.node.Heartbeat;
import io.github.holdfast.service.engine.node.Node;
import io.github.holdfast.service.engine.row.FreeRowCache;
import io.github.holdfast.service.engine.row.FreeRowCache.Origin;
import io.github.holdfast.service.engine.row.LockAccess;
import io.github.holdfast.service.engine.row.NewGrant;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.runtime.SuspensionDetector;
import io.github.holdfast.service.engine.wait.Waiter;
import io.github.holdfast.service.engine.wait.WaiterTickets;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The attempts to grant a lock to one acquisition. Each reads the lock's row, decides, and writes the grant. A hand-off between threads of
 * this process is an attempt too. Methods that use the database throw {@link StoreException} if it failed. Not thread-safe: while a thread
 * waits for a hand-off, the holder's thread uses the waiter's attempt.
 *
 * <p>A grant without an answer is in doubt: it may have happened, or may still happen. The row settles the doubt. If it shows the owner that was
 * generated for this acquisition, the next attempt adopts the grant. If it has a new version, the old grant is impossible.
 */
public final class GrantAttempt {

    private final LockAccess access;
    private final Heartbeat heartbeat;
    private final TakeoverPolicy policy;
    private final LockRequest request;
    private final LeaseAcquisition acquisition;
    private final GrantStep step;

    /** How many fencing tokens a grant takes: one for each holder in this process for which its row is kept. */
    private final long block;

    /** The place of a fair request among those of all nodes; null if it is not fair. */
    private final WaiterTickets.@Nullable Place fairPlace;

    /** The row that a grant in doubt was based on; null if none is in doubt. */
    private @Nullable LockEntity inDoubt;

    /** The greatest token that a grant in doubt may have given; 0 if there was none. */
    private long tokenInDoubt;

    /** The number of reconciliations that had begun before the attempt. */
    private long reconciliations;

    /** The node of this service; null if there is none. A lock without a lease is held through this node. */
    private @Nullable Node node;

    /** The row that the last sent write was based on. */
    private @Nullable LockEntity sent;

    /** The row that was used without a read. */
    private FreeRowCache.@Nullable Row own;

    /** The row as this process has left it, if it has probably changed since. */
    private FreeRowCache.@Nullable Row left;

    private long runsSince;

    /** That of the local clocks before the last grant was sent, if its row may be kept. */
    private long clockDifference;

    private boolean hasAsked;

    private boolean hasMovedOn;

    /**
     * Attempts for one acquisition.
     *
     * @param step the additional step in the transaction of the grant
     * @param block how many fencing tokens a grant takes
     */
    GrantAttempt(LeaseAcquisition acquisition, GrantStep step, long block) {
        this.access = acquisition.access();
        this.heartbeat = acquisition.context().heartbeat();
        this.policy = acquisition.context().policy();
        this.request = acquisition.request();
        this.acquisition = acquisition;
        this.step = step;
        this.block = block;
        this.fairPlace = request.isFair() ? acquisition.place() : null;
    }

    /** Begins the next attempt. */
    void begin() {
        sent = null;
        own = null;
        left = null;
        hasAsked = false;
        hasMovedOn = false;
        runsSince = access.ticker().nanoTime();
    }

    /** The owner, if it was generated for this acquisition, so that no other acquisition uses it; null if the user chose it. */
    @Nullable
    String ownOwner() {
        return request.owner().isPresent() ? null : acquisition.owner();
    }

    /** The requested lease; null if the lock is to be held through the node. */
    private @Nullable Duration lease() {
        return request.lease().orElse(null);
    }

    /** Finds the node of this service. A request without a lease needs a live node: if there is none, one is registered. */
    void prepare(Deadline deadline) {
        reconciliations = heartbeat.reconciliations();
        node = lease() == null ? heartbeat.living(deadline.forOneStatement()) : heartbeat.current();
    }

    /**
     * Attempts without a read if this process knows the row, and the lock was free. Otherwise, or if the row has changed since, reads
     * the row first.
     */
    AttemptResult attempt(LockRows locks) {
        Optional<FreeRowCache.Row> row =
                inDoubt == null && !request.isFair() ? access.freeRows().take(request.name()) : Optional.empty();
        if (row.isPresent() && access.freeRows().hasProbablyChanged(row.get())) {
            left = row.get();
            return attemptAfterRead(locks);
        }
        Optional<Granted> granted = row.isPresent() ? grantFromCache(locks, row.get()) : Optional.empty();
        return granted.isPresent() ? granted.get() : attemptAfterRead(locks);
    }

    /**
     * Attempts after locking the row, so that no other transaction can write it. Otherwise, a thread that lost one race might lose again
     * and again.
     */
    AttemptResult attemptLocked(TransactionalLockRows locks) {
        hasAsked = true;
        Optional<LockEntity> locked = locks.findForUpdate(request.name());
        if (locked.isEmpty()) {
            return new RowMissing(request.name());
        }
        AttemptResult attempt = attemptAfterRead(locks);
        Node through = node;
        return attempt instanceof LostRace && lease() == null && through != null
                ? lostRaceThrough(through, access.store(), heartbeat)
                : attempt;
    }

    /**
     * Handles a lost race that no other writer can have won: the grant did not find the node. If the node was ended, or its row
     * deleted, its heartbeat will notice. If the heartbeat still finds it, this thread's connections lead to another database than the
     * heartbeat's. In that database, any owner could take the lock one node lease after its grant.
     */
    public static AttemptResult lostRaceThrough(Node through, LockStore store, Heartbeat heartbeat) {
        boolean isAbsent = store.nodes().read(through.id()).isEmpty();
        if (isAbsent && through.missed()) {
            return new PermanentFailure(StoreException.nodeIsElsewhere());
        }
        heartbeat.beatSoon();
        return new LostRace();
    }

    /**
     * Grants the lock while another thread, its holder, releases it.
     *
     * @param row the row as the holder last wrote it
     * @return empty if the row has changed since, or if the lock needs a node and none is alive
     */
    Optional<NewGrant.OfLock> acquireByHandOff(LockRows locks, LockEntity row, long since) {
        if (lease() == null && (node == null || node.isOver())) {
            return Optional.empty();
        }
        reconciliations = heartbeat.reconciliations();
        return grantFromCache(locks, new FreeRowCache.Row(row, Origin.RELEASED, since))
                .map(granted -> (NewGrant.OfLock) granted.grant());
    }

    /** Grants the lock, based on the row as this process knows it; empty if the row has changed since. */
    private Optional<Granted> grantFromCache(LockRows locks, FreeRowCache.Row row) {
        hasAsked = true;
        long now = runsSince;
        own = row;
        runsSince = row.runsSince();
        if (grant(locks, row.free()) instanceof Granted granted) {
            return Optional.of(granted);
        }
        access.freeRows().wasChanged(row);
        own = null;
        sent = null;
        runsSince = now;
        return Optional.empty();
    }

    AttemptResult attemptAfterRead(LockRows locks) {
        hasAsked = true;
        long readAt = access.ticker().nanoTime();
        Optional<LockSnapshot> seen = locks.read(request.name());
        LockEntity open = inDoubt;
        if (open != null && (seen.isEmpty() || seen.get().row().version() > open.version())) {
            // The row shows the grant in doubt or a later write. At an earlier version, that of the release that the
            // grant expected is still to come. This read counts only if its transaction succeeds.
            hasMovedOn = true;
        }
        if (seen.isEmpty()) {
            return new RowMissing(request.name());
        }
        LockEntity row = seen.get().row();
        compareWithLeft(row);
        checkIsLock(row);
        if (row.isShared()) {
            return new Shared(seen.get());
        }
        return switch (policy.availability(seen.get(), acquisition.owner(), nodeId(), readAt)) {
            case FREE -> take(locks, seen.get());
            case HELD_BY_CLAIMANT -> heldByClaimant(locks, seen.get(), readAt);
            case HOLDER_NODE_EXPIRED -> HolderNodeExpired.of(seen.get().node());
            case HELD_BY_OTHER, NOT_YET_AVAILABLE -> unavailable(seen.get());
        };
    }

    /** If the row is as this process left it, the process goes on with its run. */
    private void compareWithLeft(LockEntity row) {
        FreeRowCache.Row before = left;
        if (before != null && before.free().version() == row.version()) {
            access.freeRows().wasUnchanged(before);
            runsSince = before.runsSince();
        } else if (before != null) {
            access.freeRows().wasChanged(before);
        }
        left = null;
    }

    /**
     * Checks that a row is that of a lock.
     *
     * @throws IllegalStateException if it is that of a semaphore
     */
    public static void checkIsLock(LockEntity row) {
        if (row.permits() != null) {
            throw new IllegalStateException("'" + row.name() + "' is the name of a semaphore with " + row.permits()
                    + " permits, so it cannot be a lock: choose another name");
        }
    }

    private Unavailable unavailable(LockSnapshot seen) {
        return new Unavailable(
                seen,
                policy.clockTolerance(),
                ownOwner() == null ? Waiter.LONGEST_PAUSE_OF_CHOSEN_OWNER : Waiter.LONGEST_PAUSE);
    }

    /** Takes the lock, which is free, or whose holders are dead, or which was shared and has no holder any more. */
    AttemptResult take(LockRows locks, LockSnapshot seen) {
        if (!step.accepts(seen)) {
            return new NotDue();
        }
        if (needsDelay(seen.row())) {
            return new LeftByDeadHolder(seen.row());
        }
        return isItsTurn(locks)
                ? grant(locks, seen.row())
                : new Unavailable(seen, policy.clockTolerance(), Waiter.LONGEST_PAUSE_BEHIND_OTHERS);
    }

    /**
     * Whether no fair request is before this one. If there is one, although the lock is free, also wakes the service that has waited
     * longest, once a second. Read after the row: a request that arrives later is behind this one, and a grant in between changes
     * the row's version.
     */
    private boolean isItsTurn(LockRows locks) {
        WaiterTickets.Place place = fairPlace;
        if (place == null) {
            return true;
        }
        boolean isFirst = locks.firstInQueue(request.name()).map(place::isFirst).orElse(true);
        if (!isFirst && place.claimWakeUp()) {
            // The first may have missed its wake-up, or its process does not know of the place: the insert arrived
            // late.
            access.waiterNotifier().wakeNext(request.name());
        }
        return isFirst;
    }

    /** Whether a dead holder left the lock. The lock delay protects the next holder from late writes of the dead one. */
    private boolean needsDelay(LockEntity row) {
        return row.owner() != null && !row.isShared() && !policy.lockDelay().isZero();
    }

    private AttemptResult grant(LockRows locks, LockEntity row) {
        Duration lease = lease();
        // A failover may undo an earlier grant. A write based on that grant must not find its owner, token and version
        // again.
        LockEntity after = row.granted(
                acquisition.owner(), lease == null ? nodeId() : null, acquisition.holder(), lastToken(row) - 1);
        sent = row;
        clockDifference = block > 1 ? SuspensionDetector.difference(access.ticker()) : 0;
        long sentAt = access.ticker().nanoTime();
        Duration lasts = lease == null ? heartbeat.lease() : lease;
        if (!locks.grant(row, after, lasts, request.minimumHold().orElse(null))) {
            return new LostRace();
        }
        step.granted(after);
        return granted(after, sentAt, after.fencingToken() - block + 1);
    }

    /** The greatest token that a grant takes that is based on this row. */
    private long lastToken(LockEntity row) {
        return Math.max(tokenInDoubt, row.fencingToken()) + block;
    }

    /** Enters a chosen owner's hold, or adopts a grant in doubt. Without a doubt, a copy of this process has been granted the lock. */
    private AttemptResult heldByClaimant(LockRows locks, LockSnapshot seen, long readAt) {
        if (ownOwner() == null) {
            return reenter(locks, seen);
        }
        return inDoubt == null ? unavailable(seen) : adopt(locks, seen, readAt);
    }

    /** Re-enters a lock whose owner the user chose. The owner already holds the lock, in this process or another. */
    private AttemptResult reenter(LockRows locks, LockSnapshot seen) {
        if (!request.isReentrant()) {
            return unavailable(seen);
        }
        LockEntity before = seen.row();
        LockEntity after = before.reentered();
        Duration lease = before.nodeId() == null ? LeaseExpiry.required(request.name(), lease()) : null;
        sent = before;
        long sentAt = access.ticker().nanoTime();
        boolean entered = lease == null ? locks.recount(before, after) : locks.extend(before, after, lease);
        return entered ? granted(after, sentAt, after.fencingToken()) : new LostRace();
    }

    private Granted granted(LockEntity row, long sentAt, long token) {
        Node through = through(row);
        return new Granted(new NewGrant.OfLock(
                row,
                through,
                sentAt,
                NewGrant.lease(through, lease()),
                reconciliations,
                isFirst(),
                runsSince,
                token,
                false,
                clockDifference));
    }

    /** Whether the row that was sent shows that no owner has held the lock since the row was created. */
    private boolean isFirst() {
        if (own != null) {
            return own.origin() == Origin.CREATED;
        }
        return sent != null && sent.acquiredAt() == null;
    }

    /**
     * Adopts an earlier grant of this acquisition. The database executed that grant, but the answer was lost. A read of the row
     * does not prove that a standby has the grant, so a failover could undo it. The answer to a later write proves it.
     */
    private AttemptResult adopt(LockRows locks, LockSnapshot seen, long readAt) {
        LockEntity before = seen.row();
        LockEntity after = before.withHoldCount(before.holdCount());
        sent = before;
        if (!locks.recount(before, after)) {
            // The row is still in doubt: the faster write may be an earlier one of this acquisition.
            hasMovedOn = false;
            return new LostRace();
        }
        Node through = through(after);
        // The node's lease in the row may be by another server's clock. The service itself knows how long its node
        // lives.
        Duration lasts = through == null ? seen.timeUntilOver() : through.lease();
        return new Granted(new NewGrant.OfLock(after, through, readAt, lasts, reconciliations, false, runsSince));
    }

    /** The node of this service, if the lock is held through it; null if the lock has a lease. */
    private @Nullable Node through(LockEntity row) {
        return row.nodeId() == null ? null : node;
    }

    private @Nullable String nodeId() {
        Node current = node;
        return current == null ? null : current.id();
    }

    /**
     * The row on which the last sent write was based. The database may have executed that write or not. Null if it cannot have
     * executed any.
     */
    @Nullable
    LockEntity sent() {
        return sent;
    }

    /** The row before the lock was granted; null if it was not read. */
    @Nullable
    LockEntity replaced() {
        return own == null ? sent : null;
    }

    /** Whether the attempt reached the lock's row. */
    boolean hasAsked() {
        return hasAsked;
    }

    /** Notes that the outcome of a write based on this row is unknown. */
    void doubt(LockEntity decidedOn) {
        inDoubt = decidedOn;
        tokenInDoubt = lastToken(decidedOn);
    }

    /** Notes that no grant is in doubt any more. */
    void settled() {
        inDoubt = null;
    }

    /** Notes that the attempt was answered. The row that it has seen may have settled a grant in doubt: it shows the grant, or a later write. */
    void answered() {
        if (hasMovedOn) {
            inDoubt = null;
        }
    }

    /** The row that a grant in doubt was based on; null if none is in doubt. */
    @Nullable
    LockEntity inDoubt() {
        return inDoubt;
    }
}
