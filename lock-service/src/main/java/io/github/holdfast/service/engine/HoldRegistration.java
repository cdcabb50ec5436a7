package io.github.holdfast.service.engine;

import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.engine.HoldRegistry.Reentry;

/** Registers new holds, so that they are found, fenced and monitored. Thread-safe. */
final class HoldRegistration {

    private final HoldRegistry holds;
    private final TransactionGuard transactions;
    private final ExpiryMonitor monitor;

    HoldRegistration(HoldRegistry holds, TransactionGuard transactions, ExpiryMonitor monitor) {
        this.holds = holds;
        this.transactions = transactions;
        this.monitor = monitor;
    }

    /**
     * Registers the calling thread's hold until its release. If that fails, releases the hold, because nobody else would.
     *
     * @param request what it was granted for
     * @param suspension begun before the grant: the lease counts from there, but the monitor detects only what happens from now on
     */
    void register(LeaseHold hold, LockRequest request, SuspensionDetector suspension) {
        try {
            transactions.checkSnapshot(hold);
            holds.add(hold, Thread.currentThread(), reentry(request));
            hold.lifetime().confirmOnceKept();
            if (request.isInterruptedOnLoss()) {
                hold.lifetime().interruptOnLoss(Thread.currentThread());
            }
            transactions.join(hold);
            monitor.expect(hold);
            if (suspension.detect()) {
                monitor.recheck();
            }
        } catch (RuntimeException | Error thrown) {
            hold.releaseAll();
            throw thrown;
        }
    }

    /** Notes that the hold goes on for another request of its thread. */
    void registerAgain(LeaseHold hold, LockRequest request) {
        holds.rebind(hold, reentry(request));
        monitor.expect(hold);
    }

    private static Reentry reentry(LockRequest request) {
        return request.isReentrant() && request.owner().isEmpty() ? Reentry.BY_THREAD : Reentry.NONE;
    }
}
