package io.github.holdfast.service;

import io.github.holdfast.service.Attempt.Locked;
import io.github.holdfast.service.Attempt.TooLate;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Acquires row locks: re-entry, the queue of this process, and in whose transaction. Thread-safe. */
final class RowAcquirer {

    private final Internals internals;
    private final Holders holders;

    RowAcquirer(Internals internals, Holders holders) {
        this.internals = internals;
        this.holders = holders;
    }

    /**
     * Acquires a row lock as long as the patience lasts; for {@link LockService}, which says what is thrown.
     *
     * @throws InterruptedException if the patience is interruptible and the thread was interrupted; nothing is locked then
     */
    Acquired acquire(LockRequest request, Patience patience) throws InterruptedException {
        String name = request.name();
        internals.checkAccepting();
        internals.rowLocks().checkSeenByAll(name);
        internals.transactions().checkFence(request);
        Optional<RowHold> outer = internals.rowLocks().ofCurrentThread(name).filter(hold -> hold.reenter(request));
        if (outer.isPresent()) {
            return new Acquired(name, outer.map(LockHandle::new), null, patience.elapsed());
        }
        return internals.events().acquisition(request, patience, within -> outermost(request, within));
    }

    private Acquired outermost(LockRequest request, Patience patience) throws InterruptedException {
        String name = request.name();
        internals.held().checkNotHeldByCurrentThread(name);
        internals.transactions().checkNotLost(name);
        Optional<TransactionScope> scope = internals.transactions().scopeForRowLock(request);
        Pending pending = new Pending(name, RowAcquisition.NOBODY, holders.current(), internals.ticker());
        internals.held().begin(pending);
        try {
            return scope.isPresent()
                    ? inCallers(new CallersRowAcquisition(internals, name, scope.get()), patience)
                    : inOwn(new OwnRowAcquisition(internals, name), patience);
        } finally {
            internals.held().end(pending);
        }
    }

    private Acquired inOwn(OwnRowAcquisition acquisition, Patience patience) throws InterruptedException {
        Optional<Locked> locked = patience.isOver()
                ? acquisition.within(patience)
                : internals.queue().inTurn(acquisition.name(), patience, () -> acquisition.within(patience));
        return acquired(acquisition, locked, null, patience);
    }

    /**
     * Not in the queue: the caller keeps its connection anyway, and the database could not see who waits for whom. Some databases
     * end a transaction in which a wait was in vain or a statement failed; so that applications need not know which, all do.
     */
    private Acquired inCallers(CallersRowAcquisition acquisition, Patience patience) throws InterruptedException {
        boolean mayBeRefused = patience.isOver();
        boolean isUsable = false;
        try {
            Optional<Locked> locked = acquisition.within(patience);
            Acquired acquired = acquired(acquisition, locked, acquisition.scope(), patience);
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

    private Acquired acquired(
            RowAcquisition acquisition,
            Optional<Locked> locked,
            @Nullable TransactionScope callers,
            Patience patience) {
        Optional<RowHold> hold = locked.map(row -> keep(row, callers));
        internals
                .events()
                .acquired(acquisition.name(), hold.map(kept -> kept.row().fencingToken()), patience.elapsed());
        return new Acquired(acquisition.name(), hold.map(LockHandle::new), acquisition.last(), patience.elapsed());
    }

    private RowHold keep(Locked locked, @Nullable TransactionScope callers) {
        RowHold hold = new RowHold(internals, locked, holders.current(), callers);
        try {
            internals.rowLocks().add(hold);
            internals.transactions().join(hold);
            internals.held().checkOpen();
            return hold;
        } catch (RuntimeException | Error thrown) {
            hold.close();
            throw thrown;
        }
    }
}
