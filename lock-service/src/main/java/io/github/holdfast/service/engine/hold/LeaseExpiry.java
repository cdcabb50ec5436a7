package io.github.holdfast.service.engine.hold;

import io.github.holdfast.lock.LossCause;
import io.github.holdfast.service.engine.row.HoldRow;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.runtime.SuspensionDetector;
import io.github.holdfast.service.engine.runtime.Ticker;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntUnaryOperator;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The expiry of a hold with a lease of its own. */
public final class LeaseExpiry implements Expiry {

    private final Ticker ticker;
    private final AtomicLong until;

    /** Whether a renewal came too late. */
    private volatile boolean isOver;

    /**
     * A lease that was just granted.
     *
     * @param validFrom the local time before the granting statement was sent
     * @param lease how long the lease lasted from that time, by the database's clock
     */
    LeaseExpiry(Ticker ticker, long validFrom, Duration lease) {
        this.ticker = ticker;
        this.until = new AtomicLong(Ticker.endOfLease(validFrom, lease));
    }

    @Override
    public long left(long now) {
        return isOver ? 0 : until.get() - now;
    }

    @Override
    public long untilSuspect(long now) {
        return Long.MAX_VALUE;
    }

    @Override
    public void confirm(long now) {
        // The hold lasts as long as its lease, confirmed or not.
    }

    @Override
    public boolean isConfirmed() {
        return true;
    }

    @Override
    public boolean correct(Supplier<Optional<Duration>> left) {
        long believed = until.get();
        long askedAt = ticker.nanoTime();
        Optional<Duration> seen = left.get();
        seen.map(lasts -> Ticker.endOfLease(askedAt, lasts))
                .filter(end -> end - believed < 0)
                // A concurrent renewal is more recent, and must not be overwritten.
                .ifPresent(end -> until.compareAndSet(believed, end));
        return seen.isPresent();
    }

    @Override
    public LossCause cause() {
        return LossCause.EXPIRED;
    }

    @Override
    public void checkReentry(String name, @Nullable Duration atLeast) {
        Duration unused = required(name, atLeast);
    }

    /**
     * Returns the lease of a nested request. The outer hold has a lease, so the request needs one too.
     *
     * @throws IllegalStateException if the request has no lease
     */
    public static Duration required(String name, @Nullable Duration lease) {
        if (lease == null) {
            throw new IllegalStateException("Lock '" + name
                    + "' is held by a lease, by this thread or until its transaction has ended, and a request without one"
                    + " would outlive it: give this request a lease too, or acquire the first lock without one");
        }
        return lease;
    }

    @Override
    public boolean reenter(HoldRow row, IntUnaryOperator count, @Nullable Duration atLeast, Deadline deadline)
            throws InterruptedException {
        return renew(row, count, required(row.name(), atLeast), deadline);
    }

    @Override
    public boolean renew(HoldRow row, IntUnaryOperator count, Duration atLeast, Deadline deadline)
            throws InterruptedException {
        long[] sentAt = new long[1];
        SuspensionDetector suspension = new SuspensionDetector(ticker);
        Runnable sending = () -> {
            suspension.forget();
            sentAt[0] = ticker.nanoTime();
        };
        boolean extended = row.extend(count, atLeast, sending, deadline);
        // The database's clock went on during a suspension, but the local clock did not.
        long extendedUntil = Ticker.endOfLease(sentAt[0] - suspension.suspendedNanos(), atLeast);
        if (extended && left(ticker.nanoTime()) > 0 && extendedUntil - until.get() > 0) {
            long before = until.getAndSet(extendedUntil);
            // After the change: a hold whose end another thread has just seen must not come back.
            if (ticker.nanoTime() - before >= 0) {
                isOver = true;
            }
        }
        return extended;
    }
}
