package io.github.holdfast.service;

import io.github.holdfast.service.Attempt.NotWanted;
import io.github.holdfast.service.HeldLocks.Reentry;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;

/** What every way of acquiring has in common: re-entry, the queue of this process, and the account of what is held. Thread-safe. */
final class Acquirer {

    private final Internals internals;
    private final Holders holders;
    private final String ownerPrefix = UUID.randomUUID() + ":";
    private final AtomicLong acquisitions = new AtomicLong();

    Acquirer(Internals internals, Holders holders) {
        this.internals = internals;
        this.holders = holders;
    }

    /**
     * Acquires a lock as long as the patience lasts; for {@link LockService}, which says what is thrown.
     *
     * @param step what belongs to the grant, but not to a re-entry
     * @throws InterruptedException if the patience is interruptible and the thread was interrupted; nothing is held then
     */
    Acquired acquire(LockRequest request, GrantStep step, Patience patience) throws InterruptedException {
        internals.checkAccepting();
        internals.transactions().checkFence(request);
        Optional<Hold> outer = reentered(request, patience);
        if (outer.isPresent()) {
            return new Acquired(request.name(), outer.map(Hold::handle), null, patience.elapsed());
        }
        return internals.events().acquisition(request, patience, within -> outermost(request, step, within));
    }

    private Acquired outermost(LockRequest request, GrantStep step, Patience patience) throws InterruptedException {
        internals.rowLocks().checkNotHeldByCurrentThread(request.name());
        internals.transactions().checkNotLost(request.name());
        String owner = request.owner().orElseGet(() -> ownerPrefix + acquisitions.incrementAndGet());
        String holder = holders.current();
        Acquisition acquisition = new Acquisition(internals, new Claim(request, owner, holder, step));
        Pending pending = new Pending(request.name(), owner, holder, internals.ticker());
        Optional<Hold> hold = acquired(acquisition, pending, request, patience);
        return new Acquired(request.name(), hold.map(Hold::handle), acquisition.last(), patience.elapsed());
    }

    /** What is written for the owner until this returns is accounted for, and after that by the hold. */
    private Optional<Hold> acquired(Acquisition acquisition, Pending pending, LockRequest request, Patience patience)
            throws InterruptedException {
        internals.held().begin(pending);
        try {
            return isQueued(request, patience)
                    ? inTurn(acquisition, request, patience)
                    : told(acquisition, acquisition.within(patience), request, patience);
        } finally {
            internals.held().end(pending);
        }
    }

    /** The turn lasts until the hold is there for the next one to wait for. */
    private Optional<Hold> inTurn(Acquisition acquisition, LockRequest request, Patience patience)
            throws InterruptedException {
        Optional<Hold> hold = internals
                .queue()
                .inTurn(
                        request.name(),
                        patience,
                        () -> told(acquisition, acquisition.within(patience), request, patience));
        if (acquisition.last() == null) {
            // It was never its turn.
            tell(request, hold, patience);
        }
        return hold;
    }

    private Optional<Hold> told(Acquisition acquisition, Optional<Hold> hold, LockRequest request, Patience patience) {
        if (!(acquisition.last() instanceof NotWanted)) {
            tell(request, hold, patience);
        }
        hold.ifPresent(granted -> keep(granted, request));
        return hold;
    }

    private void tell(LockRequest request, Optional<Hold> hold, Patience patience) {
        internals
                .events()
                .acquired(request.name(), hold.map(granted -> granted.grant().fencingToken()), patience.elapsed());
    }

    /** A chosen owner may hold the lock already, and would wait behind those who wait for it. */
    private static boolean isQueued(LockRequest request, Patience patience) {
        return request.owner().isEmpty() && !patience.isOver();
    }

    /** The hold of the current thread, entered once more; empty if there is none, or it is lost. */
    private Optional<Hold> reentered(LockRequest request, Patience patience) throws InterruptedException {
        Optional<Hold> outer = outer(request);
        return outer.isPresent() && outer.get().reenter(request, patience) ? outer : Optional.empty();
    }

    private Optional<Hold> outer(LockRequest request) {
        if (!request.isReentrant()) {
            return Optional.empty();
        }
        return request.owner().isEmpty()
                ? internals.held().ofCurrentThread(request.name())
                : internals.transactions().hold(request.name(), request.owner().get());
    }

    /** From here on the hold is accounted for until it is released; whatever goes wrong, nobody else would release it. */
    private void keep(Hold hold, LockRequest request) {
        try {
            internals.transactions().checkSnapshot(hold);
            internals
                    .held()
                    .add(hold, Thread.currentThread(), isReentrantByThread(request) ? Reentry.BY_THREAD : Reentry.NONE);
            hold.lifetime().confirmOnceKept();
            if (request.isInterruptedOnLoss()) {
                hold.lifetime().loss().interrupt(Thread.currentThread());
            }
            internals.transactions().join(hold);
            internals.watch().expect(hold);
        } catch (RuntimeException | Error thrown) {
            hold.end().releaseAll();
            throw thrown;
        }
    }

    private static boolean isReentrantByThread(LockRequest request) {
        return request.isReentrant() && request.owner().isEmpty();
    }
}
