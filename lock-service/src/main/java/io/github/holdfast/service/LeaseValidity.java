package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** A hold that lasts until its own lease is over. */
final class LeaseValidity implements Validity {

    private final Ticker ticker;
    private final AtomicLong until;

    /**
     * A lease that was just granted.
     *
     * @param validFrom the local time before the statement was sent that granted it
     * @param lease how long the database's lease lasted at that time
     */
    LeaseValidity(Ticker ticker, long validFrom, Duration lease) {
        this.ticker = ticker;
        this.until = new AtomicLong(Drift.end(validFrom, lease));
    }

    @Override
    public long left(long now) {
        return until.get() - now;
    }

    @Override
    public long untilSuspect(long now) {
        return Long.MAX_VALUE;
    }

    @Override
    public void confirm(long now) {
        // It lasts as long as its lease, whatever is known.
    }

    @Override
    public boolean correct(Supplier<Optional<Duration>> left) {
        long believed = until.get();
        long askedAt = ticker.nanoTime();
        Optional<Duration> seen = left.get();
        seen.map(lasts -> Drift.end(askedAt, lasts))
                .filter(end -> end - believed < 0)
                // A renewal meanwhile knows better.
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
     * Returns the lease of a nested request for a lock that is held by a lease.
     *
     * @throws IllegalStateException if it has none
     */
    static Duration required(String name, @Nullable Duration lease) {
        if (lease == null) {
            throw new IllegalStateException("Lock '" + name
                    + "' is held by a lease, and a nested request without one would outlive it: give it a lease, or acquire"
                    + " the outer one without");
        }
        return lease;
    }

    @Override
    public boolean reenter(HeldRow row, UnaryOperator<LockEntity> next, @Nullable Duration atLeast, Patience patience)
            throws InterruptedException {
        return renew(row, next, required(row.current().name(), atLeast), patience);
    }

    @Override
    public boolean renew(HeldRow row, UnaryOperator<LockEntity> next, Duration atLeast, Patience patience)
            throws InterruptedException {
        String owner = row.owner();
        long[] sentAt = new long[1];
        boolean extended = row.write(
                next,
                (locks, before, after) -> {
                    sentAt[0] = ticker.nanoTime();
                    return locks.extend(before, after, atLeast);
                },
                snapshot -> snapshot.isHeldBy(owner, null),
                patience);
        long extendedUntil = Drift.end(sentAt[0], atLeast);
        // Whoever was told meanwhile that it is over must not be contradicted.
        if (extended && left(ticker.nanoTime()) > 0 && extendedUntil - until.get() > 0) {
            until.set(extendedUntil);
        }
        return extended;
    }
}
