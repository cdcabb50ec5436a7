package io.github.holdfast.service.engine.rowlock;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.HoldfastException;
import io.github.holdfast.lock.LockDeadlockException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.repository.rows.LockSnapshot;
import io.github.holdfast.repository.rows.RowTransaction;
import io.github.holdfast.repository.rows.TransactionalLockRows;
import io.github.holdfast.repository.rows.WaiterRows.WaitMode;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.service.engine.acquire.Acquisition;
import io.github.holdfast.service.engine.acquire.AttemptResult;
import io.github.holdfast.service.engine.acquire.AttemptResult.Failed;
import io.github.holdfast.service.engine.acquire.AttemptResult.Free;
import io.github.holdfast.service.engine.acquire.AttemptResult.HolderNodeExpired;
import io.github.holdfast.service.engine.acquire.AttemptResult.LostRace;
import io.github.holdfast.service.engine.acquire.AttemptResult.RowLockAcquired;
import io.github.holdfast.service.engine.acquire.AttemptResult.RowLockedByOther;
import io.github.holdfast.service.engine.acquire.AttemptResult.RowMissing;
import io.github.holdfast.service.engine.acquire.AttemptResult.Shared;
import io.github.holdfast.service.engine.acquire.AttemptResult.SharedByOthers;
import io.github.holdfast.service.engine.acquire.AttemptResult.Unavailable;
import io.github.holdfast.service.engine.acquire.GrantAttempt;
import io.github.holdfast.service.engine.acquire.HoldContext;
import io.github.holdfast.service.engine.acquire.HoldContext.TakeoverPolicy;
import io.github.holdfast.service.engine.acquire.SharedHolders;
import io.github.holdfast.service.engine.hold.PendingAcquisitions;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.tx.TransactionScope;
import io.github.holdfast.service.engine.wait.Waiter;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One acquisition of a row lock. It first reads the lock without locking the row, so that a holder with a lease can write the
 * row. Then it locks the row, and compares it with the free row that it read. If a dead holder left the lock, a separate
 * transaction first takes the lock from it. So the transaction that locks the row writes nothing. That transaction is one of its own, and
 * ends before each pause, unless a subclass has another one. Not thread-safe.
 */
public class RowAcquisition extends Acquisition<RowHold> {

    private static final Logger LOG = LoggerFactory.getLogger(RowAcquisition.class);

    /** The shortest time that is worth a wait: the databases wait for whole seconds, which may be one second too long. */
    private static final Duration SHORTEST_WAIT = Duration.ofMillis(100);

    private final SharedHolders sharedHolders;
    private final RowTransactions rowTransactions;

    public RowAcquisition(HoldContext context, RowTransactions rowTransactions, LockRequest request) {
        super(context, request, WaitMode.EXCLUSIVE, PendingAcquisitions.NOBODY);
        this.rowTransactions = rowTransactions;
        this.sharedHolders = new SharedHolders(context, request.name());
    }

    /** Locks the row of a lock that a read has shown as free. */
    AttemptResult lock(LockEntity free, Deadline deadline) {
        RowTransaction own;
        try {
            own = rowTransactions.begin(name());
        } catch (StoreException failed) {
            return AttemptResult.failed(failed);
        }
        AttemptResult attempt = new LostRace();
        try {
            attempt = lockIn(own, free, deadline.forOneStatement(), deadline);
        } catch (StoreException failed) {
            attempt = failed.failure() == Failure.BUSY ? new RowLockedByOther() : AttemptResult.failed(failed);
        } finally {
            if (!(attempt instanceof RowLockAcquired)) {
                rowTransactions.end(own);
            }
        }
        return attempt;
    }

    /** The exception to throw if the database failed. */
    HoldfastException notLocked(StoreException why) {
        return new LockStoreException(name(), "was not acquired, and no other holder was seen", why);
    }

    /** The calling thread's transaction, if that locks the row; null if the hold gets a transaction of its own. */
    @Nullable
    TransactionScope callers() {
        return null;
    }

    final LockStore store() {
        return access().store();
    }

    /**
     * {@inheritDoc}
     *
     * @throws LockDeadlockException if the caller's transaction and another one waited for each other
     * @throws IllegalStateException if there are too many row locks
     */
    @Override
    public Optional<RowHold> acquire(Deadline deadline) throws InterruptedException {
        AttemptResult result = null;
        try {
            result = repeat(deadline);
        } finally {
            if (!(result instanceof RowLockAcquired)) {
                sharedHolders.giveUp();
            }
        }
        if (result instanceof Failed failed) {
            throw notLocked(failed.why());
        }
        return result instanceof RowLockAcquired locked
                ? Optional.of(new RowHold(context().forHolds(), rowTransactions, locked, holder(), callers()))
                : Optional.empty();
    }

    @Override
    public final AttemptResult attempt(Deadline deadline) {
        context().kept().giveBack(name());
        AttemptResult seen = read(deadline);
        if (seen instanceof SharedByOthers refused) {
            reserve(refused, deadline);
        }
        return seen instanceof Free free ? lock(free.row(), deadline) : seen;
    }

    private void reserve(SharedByOthers refused, Deadline deadline) {
        try {
            sharedHolders.reserve(refused, deadline);
        } catch (StoreException failed) {
            LOG.debug("Could not keep new shared holders of lock '{}' out", name(), failed);
        }
    }

    final AttemptResult read(Deadline deadline) {
        try {
            AttemptResult seen = store().inTransaction(deadline.forOneStatement(), this::classify);
            // A share in between would change the version, which is compared again when the row is locked.
            return seen instanceof Shared shared
                    ? sharedHolders
                            .findBlockers(shared.seen(), deadline)
                            .orElseGet(() -> new Free(shared.seen().row()))
                    : seen;
        } catch (StoreException failed) {
            return failed(failed, deadline);
        }
    }

    private AttemptResult classify(TransactionalLockRows locks) {
        long sentAt = access().ticker().nanoTime();
        Optional<LockSnapshot> seen = locks.read(name());
        if (seen.isEmpty()) {
            return new RowMissing(name());
        }
        LockEntity row = seen.get().row();
        GrantAttempt.checkIsLock(row);
        if (row.isShared()) {
            return new Shared(seen.get());
        }
        TakeoverPolicy policy = context().policy();
        return switch (policy.availability(seen.get(), PendingAcquisitions.NOBODY, null, sentAt)) {
            case FREE -> row.owner() == null ? new Free(row) : takeFromHolder(locks, row);
            case HOLDER_NODE_EXPIRED -> HolderNodeExpired.of(seen.get().node());
            case HELD_BY_CLAIMANT, HELD_BY_OTHER, NOT_YET_AVAILABLE ->
                new Unavailable(seen.get(), policy.clockTolerance(), Waiter.LONGEST_PAUSE);
        };
    }

    private AttemptResult takeFromHolder(TransactionalLockRows locks, LockEntity row) {
        boolean unused = locks.takeFromHolder(
                row, row.takenFromHolder(), context().policy().lockDelay());
        return new LostRace();
    }

    static boolean isWorthWaiting(Deadline deadline) {
        return deadline.left().compareTo(SHORTEST_WAIT) >= 0;
    }

    /** Locks the row, and waits for it if necessary. Without time to wait, locks the row only if no other transaction has locked it. */
    final AttemptResult lockIn(RowTransaction transaction, LockEntity free, Duration atMost, Deadline deadline) {
        return isWorthWaiting(deadline)
                ? transaction
                        .lock(name(), atMost)
                        .map(row -> compare(row, free, transaction))
                        .orElseGet(() -> new RowMissing(name()))
                : lockIfFreeIn(transaction, free);
    }

    final AttemptResult lockIfFreeIn(RowTransaction transaction, LockEntity free) {
        return transaction
                .lockIfFree(name())
                .map(row -> compare(row, free, transaction))
                .orElseGet(RowLockedByOther::new);
    }

    private static AttemptResult compare(LockEntity row, LockEntity free, RowTransaction transaction) {
        return row.version() == free.version() ? new RowLockAcquired(row, transaction) : new LostRace();
    }
}
