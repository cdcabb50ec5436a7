package io.github.holdfast.service.engine;

import io.github.holdfast.lock.LockDeadlockException;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockMode;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.LockUpgradeException;
import io.github.holdfast.service.engine.acquire.AcquireResult;
import io.github.holdfast.service.engine.acquire.Acquisition;
import io.github.holdfast.service.engine.acquire.AttemptResult.NotDue;
import io.github.holdfast.service.engine.acquire.GrantStep;
import io.github.holdfast.service.engine.acquire.HoldContext;
import io.github.holdfast.service.engine.acquire.LeaseAcquisition;
import io.github.holdfast.service.engine.hold.Hold;
import io.github.holdfast.service.engine.hold.LeaseHold;
import io.github.holdfast.service.engine.rowlock.CallersRowAcquisition;
import io.github.holdfast.service.engine.rowlock.RowAcquisition;
import io.github.holdfast.service.engine.rowlock.RowHold;
import io.github.holdfast.service.engine.rowlock.RowTransactions;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.runtime.ListenerDispatcher;
import io.github.holdfast.service.engine.runtime.SuspensionDetector;
import io.github.holdfast.service.engine.share.JoinableShares;
import io.github.holdfast.service.engine.share.PermitAcquisition;
import io.github.holdfast.service.engine.share.PermitRequest;
import io.github.holdfast.service.engine.share.SharedAcquisition;
import io.github.holdfast.service.engine.tx.TransactionScope;
import io.github.holdfast.service.engine.wait.LocalQueue;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Supplier;

/**
 * Acquires locks, permits and row locks: re-entry, the queue of this process, the attempts, and the registration of holds. {@link
 * io.github.holdfast.lock.Locks} documents the exceptions. Thread-safe.
 */
public final class Acquirer {

    private final HoldContext context;
    private final JoinableShares shares;
    private final RowTransactions rowTransactions;

    Acquirer(HoldContext context, JoinableShares shares, RowTransactions rowTransactions) {
        this.context = context;
        this.shares = shares;
        this.rowTransactions = rowTransactions;
    }

    /**
     * Acquires a lock within the deadline.
     *
     * @param step an additional step in the transaction of the grant; ignored for a row lock and a re-entry
     * @throws InterruptedException if the deadline is interruptible and the thread was interrupted; nothing is held then
     */
    public AcquireResult acquire(LockRequest request, GrantStep step, Deadline deadline) throws InterruptedException {
        context.phase().checkAccepting();
        if (request.isRowLock()) {
            rowTransactions.checkSeenByAll(request.name());
        }
        context.transactions().checkFence(request);
        Optional<LockHandle> entered = request.isRowLock() ? reenterRowLock(request) : reenter(request, step, deadline);
        if (entered.isPresent()) {
            return new AcquireResult(request.name(), entered, null, deadline.elapsed());
        }
        return request.isRowLock()
                ? acquire(request, () -> rowAcquisition(request), this::registerRowLock, deadline)
                : acquire(request, () -> acquisition(request, step), registration(request), deadline);
    }

    /** As {@link #acquire(LockRequest, GrantStep, Deadline)}, for permits. */
    public AcquireResult acquire(PermitRequest request, Deadline deadline) throws InterruptedException {
        LockRequest lock = request.lock();
        context.phase().checkAccepting();
        context.transactions().checkFence(lock);
        Optional<LockHandle> entered = resume(lock, request.permits(), deadline);
        if (entered.isPresent()) {
            return new AcquireResult(lock.name(), entered, null, deadline.elapsed());
        }
        return acquire(lock, () -> new PermitAcquisition(context, request), registration(lock), deadline);
    }

    /** Acquires what the calling thread does not hold. The listeners also hear of a request that is refused before it begins. */
    private <H extends Hold> AcquireResult acquire(
            LockRequest request,
            Supplier<? extends Acquisition<H>> chosen,
            BiConsumer<H, SuspensionDetector> registration,
            Deadline deadline)
            throws InterruptedException {
        String name = request.name();
        ListenerDispatcher listeners = context.listeners();
        listeners.tell(listener -> listener.acquiring(request));
        try {
            Acquisition<H> acquisition = chosen.get();
            context.transactions().checkNotLost(name);
            // The place is kept until the hold is registered, so that the next thread can wait for that hold.
            try (LocalQueue.Place place = acquisition.isQueued() && !deadline.isOver()
                    ? context.access().queue().enter(name)
                    : null) {
                // A reconciliation frees no row of a pending acquisition. Later, the hold protects the row.
                // Counted only here: the order of counting is the order of places.
                context.pending().begin(acquisition);
                boolean isItsTurn = place == null || place.awaitTurn(deadline);
                SuspensionDetector suspension =
                        new SuspensionDetector(context.access().ticker());
                Optional<H> hold = isItsTurn ? acquisition.acquire(deadline) : Optional.empty();
                if (!(acquisition.last() instanceof NotDue)) {
                    listeners.acquired(name, hold.map(Hold::tokenInRow), deadline.elapsed());
                }
                hold.ifPresent(granted -> registration.accept(granted, suspension));
                return new AcquireResult(name, hold.map(Hold::handle), acquisition.last(), deadline.elapsed());
            } finally {
                context.pending().end(acquisition);
            }
        } catch (LockStoreException | LockLostException | LockDeadlockException | InterruptedException failed) {
            listeners.tell(listener -> listener.failed(name, deadline.elapsed(), failed));
            throw failed;
        } finally {
            listeners.tell(listener -> listener.acquisitionEnded(request));
        }
    }

    // Locks and permits

    /** Enters a hold of the calling thread. Without a grant, no step can be done. */
    private Optional<LockHandle> reenter(LockRequest request, GrantStep step, Deadline deadline)
            throws InterruptedException {
        Optional<LeaseHold> outer = outer(request).filter(hold -> isEnough(hold, request));
        if (outer.isPresent() && outer.get().reenter(request, deadline)) {
            return outer.map(LeaseHold::handle);
        }
        return step == GrantStep.NONE ? resume(request, 0, deadline) : Optional.empty();
    }

    private Optional<LeaseHold> outer(LockRequest request) {
        if (!request.isReentrant()) {
            return Optional.empty();
        }
        return request.owner().isEmpty()
                ? context.holds().ofCurrentThread(request.name())
                : context.transactions()
                        .hold(request.name(), request.owner().get())
                        .map(LeaseHold.class::cast);
    }

    /**
     * Goes on with a hold whose release waits for the calling thread's transaction. Otherwise, the request would wait for its own thread. A
     * chosen owner does not go on, because other processes may hold the lock under that owner.
     *
     * @param permits how many permits are requested; 0 for a lock
     * @return empty if there is no such hold
     */
    private Optional<LockHandle> resume(LockRequest request, int permits, Deadline deadline)
            throws InterruptedException {
        for (LeaseHold hold : context.holds().deferred(request.name())) {
            boolean isSuitable = hold.permits() == permits
                    && isEnough(hold, request)
                    && !hold.isOwnerChosen()
                    && request.owner().isEmpty();
            if (isSuitable && hold.resume(request, deadline)) {
                context.registerAgain(hold, request);
                return Optional.of(hold.handle());
            }
        }
        return Optional.empty();
    }

    /** Whether the hold gives what was requested. A share is not enough for an exclusive request. */
    private static boolean isEnough(LeaseHold hold, LockRequest request) {
        return hold.isExclusive() || hold.permits() > 0 || request.mode() == LockMode.SHARED;
    }

    /**
     * Returns the acquisition of a lock that the calling thread does not hold.
     *
     * @throws LockUpgradeException if the calling thread shares the lock, and the request is exclusive
     */
    private Acquisition<LeaseHold> acquisition(LockRequest request, GrantStep step) {
        rowTransactions.checkNotHeldByCurrentThread(request.name());
        if (request.mode() == LockMode.SHARED) {
            return new SharedAcquisition(context, shares, request);
        }
        context.holds().checkNotSharedByCurrentThread(request.name());
        return new LeaseAcquisition(context, request, step);
    }

    private BiConsumer<LeaseHold, SuspensionDetector> registration(LockRequest request) {
        return (hold, suspension) -> context.register(hold, request, suspension);
    }

    // Row locks

    private Optional<LockHandle> reenterRowLock(LockRequest request) {
        return rowTransactions
                .ofCurrentThread(request.name())
                .filter(hold -> hold.reenter(request))
                .map(RowHold::handle);
    }

    /** Returns the acquisition of a row lock in the caller's transaction, or in one of its own. */
    private RowAcquisition rowAcquisition(LockRequest request) {
        context.holds().checkNotSharedByCurrentThread(request.name());
        context.holds().checkNotHeldByCurrentThread(request.name());
        context.transactions().checkNotLost(request.name());
        Optional<TransactionScope> callers = context.transactions().scopeForRowLock(request);
        return callers.isPresent()
                ? new CallersRowAcquisition(context, rowTransactions, request, callers.get())
                : new RowAcquisition(context, rowTransactions, request);
    }

    private void registerRowLock(RowHold hold, SuspensionDetector suspension) {
        try {
            rowTransactions.add(hold);
            context.transactions().join(hold);
            context.phase().checkOpen();
        } catch (RuntimeException | Error thrown) {
            hold.abandon();
            throw thrown;
        }
    }
}
