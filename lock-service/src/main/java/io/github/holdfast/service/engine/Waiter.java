package io.github.holdfast.service.engine;

import io.github.holdfast.service.engine.AttemptResult.Unavailable;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** A thread that acquires a lock, with the pauses between its attempts. Only this thread pauses; any thread may wake it. */
final class Waiter implements AutoCloseable {

    private final WaiterNotifier waiterNotifier;
    private final String name;
    private final Thread thread = Thread.currentThread();
    private volatile boolean isWoken;
    private volatile boolean isNotified;

    /** Whether a notification preceded the last attempt, which did not acquire the lock. */
    private boolean wasNotified;

    Waiter(WaiterNotifier waiterNotifier, String name) {
        this.waiterNotifier = waiterNotifier;
        this.name = name;
    }

    String name() {
        return name;
    }

    /**
     * Pauses before the next attempt. The first pauses are those of {@link Deadline#pause}: most waits are short, and not worth a
     * write. Later, the waiter announces itself to the other nodes. If they will wake it, its pauses become longer and longer.
     *
     * @param held the result of the last attempt, if the lock was unavailable; null if that attempt has decided nothing
     */
    void pause(Deadline deadline, @Nullable Unavailable held) throws InterruptedException {
        if (held == null) {
            deadline.pause(null);
        } else if (deadline.isLong() && waiterNotifier.announce(this, deadline.forOneStatement())) {
            pauseUntilWoken(deadline, held);
        } else {
            deadline.pause(held.timeUntilFree());
        }
    }

    /**
     * Pauses until woken. Each release of a contended lock wakes all nodes that wait for it, but only one gets the lock. So after
     * a notification in vain, a waiter attempts no more often than by polling. The first of these pauses is no longer than that
     * of a poll: a release that was already under way has not seen the mark.
     */
    private void pauseUntilWoken(Deadline deadline, Unavailable held) throws InterruptedException {
        boolean isDeaf = wasNotified;
        deadline.pauseUntil(
                () -> isWoken || (isNotified && !isDeaf),
                isDeaf ? Deadline.LONGEST_PAUSE : WaiterNotifier.LONGEST_PAUSE,
                untilItIsWorthALook(held));
        wasNotified = isNotified;
        isNotified = false;
        isWoken = false;
    }

    private static Duration untilItIsWorthALook(Unavailable held) {
        Duration untilFree = held.timeUntilFree();
        if (untilFree != null) {
            return untilFree;
        }
        // After a node has ended, nobody can acquire its locks for a while. The row does not show here how long.
        Duration untilOver = held.seen().timeUntilOver();
        return untilOver.isZero() ? Deadline.LONGEST_PAUSE : untilOver.plus(held.tolerance());
    }

    /** Ends the pause. */
    void wake() {
        isWoken = true;
        LockSupport.unpark(thread);
    }

    /** Ends the pause, unless the last notification was in vain. */
    void notifyOfRelease() {
        isNotified = true;
        LockSupport.unpark(thread);
    }

    /** Ends the wait. */
    @Override
    public void close() {
        waiterNotifier.forget(this);
    }
}
