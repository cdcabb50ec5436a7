package io.github.holdfast.repository.wakeup;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.rows.JpaLockRows;
import io.github.holdfast.repository.rows.WaiterRows;
import io.github.holdfast.repository.rows.WakingRelease;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Remembers for a moment that no other service waits for any lock. Meanwhile, releases do not ask which waiter is next: the
 * question is a subplan or two of each release, and a busy service nearly always gets the same answer.
 *
 * <p>A service that begins to wait polls until no such answer counts any more ({@link WaiterRows#UNNOTICED}). So a release that does
 * not ask costs a waiter no more than one poll. A service that releases seldom always asks. Thread-safe.
 */
public final class WaitingNodesCache implements WakingRelease {

    private static final Logger LOG = LoggerFactory.getLogger(WaitingNodesCache.class);

    /**
     * How long an answer counts, from before its query. A release that does not ask has as much time again to be committed; one that takes
     * longer asks after its commit.
     */
    public static final Duration LASTS = WaiterRows.UNNOTICED.dividedBy(2);

    /** How long a query may take. */
    public static final Duration AT_MOST = Duration.ofSeconds(1);

    /** A service that has asked more often than this while an answer would have counted is busy. */
    public static final int BUSY = 8;

    private final WakingRelease asking;
    private final Consumer<String> wakeNext;
    private final BooleanSupplier isAnyWaiting;
    private final Consumer<Runnable> background;
    private final LongSupplier nanoClock;

    /** When the last query began that found no service that waits, by the local clock. */
    private volatile long noneSince;

    /** No query begins before this local time. Guarded by this object, as are the next two. */
    private long notBefore;

    /** When the releases were last counted from zero. */
    private long countedSince;

    private int asked;

    /**
     * Creates a cache, which is empty.
     *
     * @param asking writes releases that ask which waiter is next
     * @param wakeNext wakes the service that has waited longest for a lock
     * @param isAnyWaiting whether another service waits for any lock; one statement
     * @param background runs work soon, on another thread
     * @param nanoClock the local clock, as {@link System#nanoTime}
     */
    public WaitingNodesCache(
            WakingRelease asking,
            Consumer<String> wakeNext,
            BooleanSupplier isAnyWaiting,
            Consumer<Runnable> background,
            LongSupplier nanoClock) {
        this.asking = asking;
        this.wakeNext = wakeNext;
        this.isAnyWaiting = isAnyWaiting;
        this.background = background;
        this.nanoClock = nanoClock;
        long now = nanoClock.getAsLong();
        noneSince = now - LASTS.toNanos();
        notBefore = now;
        countedSince = now;
    }

    @Override
    public boolean release(JpaLockRows locks, LockEntity before) {
        long since = noneSince;
        if (mayAnyWait()) {
            return asking.release(locks, before);
        }
        boolean released = locks.releaseUnasked(before);
        if (released) {
            askIfLate(since, before.name());
        }
        return released;
    }

    /**
     * Asks after a release that has not asked, if the connection or the database was so slow that a service may have stopped polling
     * before its commit.
     *
     * @param since when the query began that let it not ask
     */
    void askIfLate(long since, String name) {
        if (nanoClock.getAsLong() - since >= WaiterRows.UNNOTICED.toNanos()) {
            background.accept(() -> wakeNext.accept(name));
        }
    }

    /** Whether another service may wait, as far as this one knows. */
    boolean mayAnyWait() {
        long now = nanoClock.getAsLong();
        long age = now - noneSince;
        boolean mayAnyWait = age >= LASTS.toNanos();
        if (mayAnyWait ? isBusy(now) : age > LASTS.toNanos() / 2) {
            readSoon(now);
        }
        return mayAnyWait;
    }

    private synchronized boolean isBusy(long now) {
        if (now - countedSince >= LASTS.toNanos()) {
            countedSince = now;
            asked = 0;
        }
        asked++;
        return asked > BUSY;
    }

    private void readSoon(long now) {
        if (claimRead(now)) {
            background.accept(this::read);
        }
    }

    /** Whether no read is under way. If its work is dropped, another one may read after its time. */
    private synchronized boolean claimRead(long now) {
        if (now - notBefore < 0) {
            return false;
        }
        notBefore = now + AT_MOST.toNanos();
        return true;
    }

    private synchronized void allowReadFrom(long time) {
        notBefore = time;
    }

    private void read() {
        long begin = nanoClock.getAsLong();
        try {
            noneSince = isAnyWaiting.getAsBoolean() ? begin - LASTS.toNanos() : begin;
        } catch (StoreException failed) {
            LOG.debug("Could not read whether other services wait, so releases ask which waiter is next", failed);
        } finally {
            allowReadFrom(begin + LASTS.toNanos() / 2);
        }
    }
}
