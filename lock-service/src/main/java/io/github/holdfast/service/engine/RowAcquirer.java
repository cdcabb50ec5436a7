package io.github.holdfast.service.engine;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.engine.AttemptResult.RowLockAcquired;
import io.github.holdfast.service.engine.AttemptResult.TooLate;
import io.github.holdfast.service.engine.PendingAcquisitions.Pending;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Acquires row locks: handles re-entry and the queue of this process, and chooses the transaction. Thread-safe. */
final class RowAcquirer {

    private final HoldContext context;
    private final RowLocks rowLocks;

    RowAcquirer(HoldContext context, RowLocks rowLocks) {
        this.context = context;
        this.rowLocks = rowLocks;
    }

    /**
     * Re-enters the calling thread's hold of the lock.
     *
     * @return empty if there is no such hold
     */
    Optional<LockHandle> reenter(LockRequest request) {
        return rowLocks.ofCurrentThread(request.name())
                .filter(hold -> hold.reenter(request))
                .map(RowHold::handle);
    }

    /**
     * Acquires a row lock that the calling thread does not hold.
     *
     * @throws InterruptedException if the deadline is interruptible and the thread was interrupted; nothing is locked then
     */
    AcquireResult acquire(LockRequest request, Deadline deadline) throws InterruptedException {
        String name = request.name();
        context.holds().checkNotSharedByCurrentThread(name);
        context.holds().checkNotHeldByCurrentThread(name);
        context.transactions().checkNotLost(name);
        Optional<TransactionScope> scope = context.transactions().scopeForRowLock(request);
        Pending pending = new Pending(
                name,
                Pending.NOBODY,
                context.identity().current(),
                context.access().ticker());
        context.pending().begin(pending);
        try {
            return scope.isPresent()
                    ? inCallers(new CallersRowAcquisition(context, rowLocks, name, scope.get()), deadline)
                    : inOwn(new RowAcquisition(context, rowLocks, name), deadline);
        } finally {
            context.pending().end(pending);
        }
    }

    private AcquireResult inOwn(RowAcquisition acquisition, Deadline deadline) throws InterruptedException {
        Optional<RowLockAcquired> locked;
        LocalQueue queue = context.access().queue();
        try (LocalQueue.Place place = deadline.isOver() ? null : queue.enter(acquisition.name())) {
            locked = place == null || place.awaitTurn(deadline) ? acquisition.acquire(deadline) : Optional.empty();
        }
        return acquired(acquisition, locked, null, deadline);
    }

    /**
     * Acquires in the caller's transaction, without the queue. The caller keeps its connection anyway, and the database could not
     * see deadlocks through the queue. Some databases end a transaction after a failed statement or a failed wait. All databases
     * should behave alike, so the transaction is then marked for rollback on each of them.
     */
    private AcquireResult inCallers(CallersRowAcquisition acquisition, Deadline deadline) throws InterruptedException {
        boolean mayBeRefused = deadline.isOver();
        boolean isUsable = false;
        try {
            Optional<RowLockAcquired> locked = acquisition.acquire(deadline);
            AcquireResult acquired = acquired(acquisition, locked, acquisition.scope(), deadline);
            if (acquisition.last() instanceof TooLate) {
                throw acquired.refusal();
            }
            isUsable = locked.isPresent() || mayBeRefused;
            return acquired;
        } finally {
            if (!isUsable) {
                acquisition.setRollbackOnly();
            }
        }
    }

    private AcquireResult acquired(
            RowAcquisition acquisition,
            Optional<RowLockAcquired> locked,
            @Nullable TransactionScope callers,
            Deadline deadline) {
        Optional<RowHold> hold = locked.map(row -> keep(row, callers));
        context.listeners()
                .acquired(acquisition.name(), hold.map(kept -> kept.row().fencingToken()), deadline.elapsed());
        return new AcquireResult(acquisition.name(), hold.map(RowHold::handle), acquisition.last(), deadline.elapsed());
    }

    private RowHold keep(RowLockAcquired locked, @Nullable TransactionScope callers) {
        RowHold hold = new RowHold(
                context.forHolds(), rowLocks, locked, context.identity().current(), callers);
        try {
            rowLocks.add(hold);
            context.transactions().join(hold);
            context.phase().checkOpen();
            return hold;
        } catch (RuntimeException | Error thrown) {
            hold.close();
            hold.detach();
            throw thrown;
        }
    }
}
