package io.github.holdfast.service.engine;

import io.github.holdfast.service.engine.AttemptResult.Unavailable;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** A thread that acquires a lock, with the pauses between its attempts. Only this thread pauses; any thread may wake it. */
final class Waiter implements AutoCloseable {

    /** Most waiters that are woken acquire the lock at once, or after one that was faster. */
    private static final int MOST_IN_VAIN = 3;

    private final WaiterNotifier waiterNotifier;
    private final String name;
    private final WaiterTickets.Place place;
    private final Thread thread = Thread.currentThread();
    private volatile boolean isWoken;
    private volatile boolean isNotified;

    /** Whether a notification has ended the last pause, and the attempt after it is not finished. */
    private boolean isToAttempt;

    /** How many notifications in a row have preceded attempts that did not acquire the lock. */
    private int inVain;

    Waiter(WaiterNotifier waiterNotifier, String name, WaiterTickets.Place place) {
        this.waiterNotifier = waiterNotifier;
        this.name = name;
        this.place = place;
    }

    String name() {
        return name;
    }

    /** The place of this waiter among those of other nodes. */
    WaiterTickets.Place place() {
        return place;
    }

    /** Whether a notification has arrived that no attempt has made use of. */
    boolean isWakeUpUnused() {
        return isNotified || isToAttempt;
    }

    /** Notes that the lock was granted. */
    void granted() {
        isNotified = false;
        isToAttempt = false;
    }

    /**
     * Pauses before the next attempt. The first pauses are those of {@link Deadline#pause}: most waits are short, and not worth a
     * write. Later, the waiter announces itself to the other nodes. If they will wake it, its pauses become longer and longer.
     *
     * @param held the result of the last attempt, if the lock was unavailable; null if that attempt has decided nothing
     */
    void pause(Deadline deadline, @Nullable Unavailable held) throws InterruptedException {
        isToAttempt = false;
        if (held == null) {
            deadline.pause(null);
        } else if (deadline.isLong() && waiterNotifier.announce(this, held.seen(), deadline.forOneStatement())) {
            pauseUntilWoken(deadline, held);
        } else {
            deadline.pause(held.timeUntilFree());
        }
    }

    /**
     * Pauses until woken. Somebody who does not wait may be faster, again and again. So after some notifications in vain, a
     * waiter attempts no more often than by polling. The first of these pauses is no longer than that of a poll: a release that
     * was already under way has not seen the mark.
     */
    private void pauseUntilWoken(Deadline deadline, Unavailable held) throws InterruptedException {
        boolean isDeaf = inVain >= MOST_IN_VAIN;
        deadline.pauseUntil(
                () -> isWoken || (isNotified && !isDeaf),
                isDeaf ? Deadline.LONGEST_PAUSE : WaiterNotifier.LONGEST_PAUSE,
                untilItIsWorthALook(held));
        inVain = isNotified ? inVain + 1 : 0;
        isToAttempt = isNotified;
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
