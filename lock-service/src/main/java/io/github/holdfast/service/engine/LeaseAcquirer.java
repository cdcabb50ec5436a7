package io.github.holdfast.service.engine;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockMode;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockUpgradeException;
import io.github.holdfast.repository.WaiterRows.WaitMode;
import io.github.holdfast.service.engine.AttemptResult.NotDue;
import io.github.holdfast.service.engine.PendingAcquisitions.Pending;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Acquires locks with a lease or through a node. It handles re-entry, the queue of this process, and the registration of holds.
 * Thread-safe.
 */
final class LeaseAcquirer {

    private final HoldContext context;
    private final RowLocks rowLocks;

    LeaseAcquirer(HoldContext context, RowLocks rowLocks) {
        this.context = context;
        this.rowLocks = rowLocks;
    }

    /**
     * Re-enters the calling thread's hold of the lock.
     *
     * @return empty if there is no such hold, or it is lost
     */
    Optional<LockHandle> reenter(LockRequest request, Deadline deadline) throws InterruptedException {
        Optional<LeaseHold> outer = outer(request).filter(hold -> isEnough(hold, request));
        return outer.isPresent() && outer.get().reenter(request, deadline)
                ? outer.map(LeaseHold::handle)
                : Optional.empty();
    }

    /**
     * Goes on with a hold whose release waits for the calling thread's transaction. Otherwise, the request would wait for its own thread. A
     * chosen owner does not go on, because other processes may hold the lock under that owner.
     *
     * @param permits how many permits the request wants; 0 if it wants a lock
     * @return empty if there is no such hold
     */
    Optional<LockHandle> resume(LockRequest request, int permits, Deadline deadline) throws InterruptedException {
        for (LeaseHold hold : context.holds().deferred(request.name())) {
            boolean isWanted = hold.permits() == permits
                    && isEnough(hold, request)
                    && !hold.isOwnerChosen()
                    && request.owner().isEmpty();
            if (isWanted && hold.resume(request, deadline)) {
                context.registration().registerAgain(hold, request);
                return Optional.of(hold.handle());
            }
        }
        return Optional.empty();
    }

    /** Whether the hold gives what the request wants. A share is not enough for an exclusive request. */
    private static boolean isEnough(LeaseHold hold, LockRequest request) {
        return hold.isExclusive() || hold.permits() > 0 || request.mode() == LockMode.SHARED;
    }

    /**
     * Returns the acquisition of a lock that the calling thread does not hold.
     *
     * @param step the additional step in the transaction of the grant; none for a shared lock
     * @throws LockUpgradeException if the calling thread shares the lock, and the request is exclusive
     */
    Acquisition acquisition(LockRequest request, GrantStep step) {
        rowLocks.checkNotHeldByCurrentThread(request.name());
        if (request.mode() == LockMode.SHARED) {
            return new SharedAcquisition(
                    context, request, identity().newOwner(), identity().current());
        }
        context.holds().checkNotSharedByCurrentThread(request.name());
        return new LeaseAcquisition(context, claim(request, step));
    }

    /** Returns the acquisition of permits. */
    Acquisition acquisition(PermitRequest request) {
        return new PermitAcquisition(
                context, request, identity().newOwner(), identity().current());
    }

    /**
     * Executes an acquisition.
     *
     * @param request what it was made for
     * @throws InterruptedException if the deadline is interruptible and the thread was interrupted; nothing is held then
     */
    AcquireResult acquire(Acquisition acquisition, LockRequest request, Deadline deadline) throws InterruptedException {
        context.transactions().checkNotLost(request.name());
        Pending pending = new Pending(
                acquisition.name(),
                acquisition.owner(),
                acquisition.holder(),
                context.access().ticker());
        // A reconciliation frees no row of a pending acquisition. Later, the hold protects the row.
        context.pending().begin(pending);
        // The place is kept until the hold is registered, so that the next thread can wait for that hold.
        try (LocalQueue.Place place = place(request, deadline)) {
            boolean isItsTurn = place == null || place.awaitTurn(deadline);
            SuspensionDetector suspension =
                    new SuspensionDetector(context.access().ticker());
            Optional<LeaseHold> hold = isItsTurn ? acquisition.acquire(deadline) : Optional.empty();
            conclude(acquisition, hold, request, deadline);
            hold.ifPresent(granted -> context.registration().register(granted, request, suspension));
            return new AcquireResult(
                    request.name(), hold.map(LeaseHold::handle), acquisition.last(), deadline.elapsed());
        } finally {
            context.pending().end(pending);
        }
    }

    private LeaseClaim claim(LockRequest request, GrantStep step) {
        String owner = request.owner().orElseGet(identity()::newOwner);
        WaiterNotifier waiters = context.access().waiterNotifier();
        WaiterTickets.Place place = request.isFair()
                ? waiters.fairPlace(request.name())
                : waiters.place(request.name(), WaitMode.EXCLUSIVE);
        return new LeaseClaim(request, owner, identity().current(), step, place);
    }

    /**
     * Joins the queue of this process, if the request may wait. A request with a chosen owner does not queue. Its owner may
     * already hold the lock, and would queue behind threads that wait for that hold. A fair request has a place in the queue of
     * all processes instead.
     */
    private LocalQueue.@Nullable Place place(LockRequest request, Deadline deadline) {
        return request.owner().isEmpty() && !request.isFair() && !deadline.isOver()
                ? context.access().queue().enter(request.name())
                : null;
    }

    /** Reports the outcome to the listeners. */
    private void conclude(Acquisition acquisition, Optional<LeaseHold> hold, LockRequest request, Deadline deadline) {
        if (!(acquisition.last() instanceof NotDue)) {
            context.listeners()
                    .acquired(
                            request.name(), hold.map(granted -> granted.grant().fencingToken()), deadline.elapsed());
        }
    }

    private ProcessIdentity identity() {
        return context.identity();
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
}
