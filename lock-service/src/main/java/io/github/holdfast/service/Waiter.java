package io.github.holdfast.service;

import io.github.holdfast.service.Attempt.Refused;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** A thread that acquires a lock: how it pauses between two looks. Only it pauses; any thread may wake it. */
final class Waiter implements AutoCloseable {

    private final WakeUps wakeUps;
    private final String name;
    private final Thread thread = Thread.currentThread();
    private volatile boolean isWoken;
    private volatile boolean isNotified;

    /** Whether it was notified before the last look, which then was in vain. */
    private boolean wasNotified;

    Waiter(WakeUps wakeUps, String name) {
        this.wakeUps = wakeUps;
        this.name = name;
    }

    String name() {
        return name;
    }

    /**
     * Pauses before the next look. As long as the pauses are short, as {@link Patience#pause}: short waits are the most frequent,
     * and are not worth a write. After that other nodes are told of it, and if it will be woken it pauses for longer and longer.
     *
     * @param held the lock that somebody else was seen to hold; null if the last look has decided nothing
     */
    void pause(Patience patience, @Nullable Refused held) throws InterruptedException {
        if (held == null) {
            patience.pause(null);
        } else if (patience.isLong() && wakeUps.announce(this, patience.forOneStatement())) {
            pauseUntilWoken(patience, held);
        } else {
            patience.pause(held.timeUntilFree());
        }
    }

    /**
     * All nodes that wait for a hot lock are woken at each release, and all but one in vain. So who has been looks no more often
     * than by polling. The first of these pauses is no longer than a poll: a release that was under way when the mark was
     * set has not seen it.
     */
    private void pauseUntilWoken(Patience patience, Refused held) throws InterruptedException {
        boolean isDeaf = wasNotified;
        patience.pauseUntil(
                () -> isWoken || (isNotified && !isDeaf),
                isDeaf ? Patience.LONGEST_PAUSE : WakeUps.LONGEST_PAUSE,
                untilItIsWorthALook(held));
        wasNotified = isNotified;
        isNotified = false;
        isWoken = false;
    }

    private static Duration untilItIsWorthALook(Refused held) {
        Duration untilFree = held.timeUntilFree();
        if (untilFree != null) {
            return untilFree;
        }
        // What an ended node has left may be kept from everybody for a while that the row does not tell here.
        Duration untilOver = held.seen().timeUntilOver();
        return untilOver.isZero() ? Patience.LONGEST_PAUSE : untilOver.plus(held.tolerance());
    }

    /** Ends its pause. */
    void wake() {
        isWoken = true;
        LockSupport.unpark(thread);
    }

    /** Ends its pause, unless that would be too often. */
    void notifyOfRelease() {
        isNotified = true;
        LockSupport.unpark(thread);
    }

    /** It waits no more. */
    @Override
    public void close() {
        wakeUps.forget(this);
    }
}
