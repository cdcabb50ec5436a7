package io.github.holdfast.service.engine.share;

import io.github.holdfast.repository.rows.HolderRows.HolderSnapshot;
import io.github.holdfast.repository.rows.HolderRows.Usage;
import io.github.holdfast.repository.rows.WaiterRows.WaitMode;
import io.github.holdfast.service.engine.acquire.AttemptResult;
import io.github.holdfast.service.engine.acquire.AttemptResult.Granted;
import io.github.holdfast.service.engine.acquire.AttemptResult.LimitTooLow;
import io.github.holdfast.service.engine.acquire.AttemptResult.Obstacle;
import io.github.holdfast.service.engine.acquire.AttemptResult.PermitsUsed;
import io.github.holdfast.service.engine.acquire.AttemptResult.SemaphoreMissing;
import io.github.holdfast.service.engine.acquire.DeadHolders;
import io.github.holdfast.service.engine.acquire.HoldContext;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.runtime.Ticker;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** One acquisition of a semaphore's permits. Each attempt reads how many permits are left. Not thread-safe. */
public final class PermitAcquisition extends ShareAcquisition {

    /** How often a waiter checks for holders whose node is dead. Mostly it attempts only after the poller has seen a change. */
    private static final Duration DEAD_HOLDER_CHECK_PERIOD = Duration.ofMillis(200);

    /** How long a waiter leaves dead holders alone whose rows are protected. Other permits may be released meanwhile. */
    private static final Duration AFTER_PROTECTED = Duration.ofSeconds(10);

    private final PermitRequest permits;
    private final DeadHolders deadHolders;
    private final Ticker ticker;

    /** The local time of the next check for dead holders, unless a lease ends before. */
    private long nextDeadHolderCheck;

    /** An acquisition that has not begun. */
    public PermitAcquisition(HoldContext context, PermitRequest permits) {
        super(context, permits.lock(), WaitMode.PERMITS);
        this.permits = permits;
        this.deadHolders = new DeadHolders(context, AFTER_PROTECTED);
        this.ticker = access().ticker();
        this.nextDeadHolderCheck = ticker.nanoTime();
    }

    @Override
    int wantedPermits() {
        return permits.permits();
    }

    @Override
    AttemptResult decide(Deadline deadline) {
        Optional<Usage> usage = store().inTransaction(
                        deadline.forOneStatement(), () -> permits().usage(name()));
        if (usage.isEmpty()) {
            return missing(deadline);
        }
        Usage seen = usage.get();
        if (seen.limit() > 0 && seen.limit() < permits.permits()) {
            return new LimitTooLow(permits.permits(), seen.limit());
        }
        long left = seen.limit() - seen.used();
        if (left < permits.permits()) {
            return refused(seen, deadline);
        }
        AttemptResult granted = grant(permits.permits(), seen.version(), first -> true, permits()::grant, deadline);
        if (granted instanceof Granted && left > permits.permits()) {
            wakeNext();
        }
        return granted;
    }

    /**
     * Finds out why the name has no semaphore.
     *
     * @throws IllegalStateException if it is the name of a lock
     */
    private AttemptResult missing(Deadline deadline) {
        boolean isLock = access().autocommit(deadline.forOneStatement())
                .read(name())
                .filter(seen -> seen.row().permits() == null)
                .isPresent();
        if (isLock) {
            throw new IllegalStateException(
                    "'" + name() + "' is the name of a lock, so it cannot be a semaphore: choose another name");
        }
        return new SemaphoreMissing(name(), permits.limit());
    }

    /** Checks from time to time whether dead holders have permits, and removes them. */
    private AttemptResult refused(Usage seen, Deadline deadline) {
        Duration untilLeaseEnds = seen.timeUntilLeaseEnds(context().policy().clockTolerance());
        boolean isLeaseOver = untilLeaseEnds != null && untilLeaseEnds.isZero();
        Duration leftAlone = deadHolders.backoffRemaining();
        if (!leftAlone.isZero()) {
            return new PermitsUsed(seen, leftAlone);
        }
        long now = ticker.nanoTime();
        if (!isLeaseOver && now - nextDeadHolderCheck < 0) {
            return new PermitsUsed(seen, untilLeaseEnds);
        }
        List<HolderSnapshot> holders = store().inTransaction(
                        deadline.forOneStatement(), () -> permits().holders(name()));
        Optional<Obstacle> dead = deadHolders.clear(holders, now, deadline);
        if (dead.isPresent()) {
            return dead.get();
        }
        Duration protectedFor = deadHolders.backoffRemaining();
        if (!protectedFor.isZero()) {
            return new PermitsUsed(seen, protectedFor);
        }
        nextDeadHolderCheck = now + DEAD_HOLDER_CHECK_PERIOD.toNanos();
        return new PermitsUsed(seen, isLeaseOver ? DEAD_HOLDER_CHECK_PERIOD : untilLeaseEnds);
    }
}
