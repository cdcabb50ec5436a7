package io.github.holdfast.shedlock;

import java.time.Duration;
import net.javacrumbs.shedlock.core.LockConfiguration;

/**
 * Until when no other owner may get a lock, although it is unlocked. The grant writes this into the row, and an extension cannot change it
 * there. Instants are those of {@link System#nanoTime}.
 *
 * @param inRow the instant until which the row says so
 * @param wanted the instant that the last extension requests; that of the row if there is none
 */
record MinimumHold(long inRow, long wanted) {

    /**
     * What the row says after a grant.
     *
     * @param sentAt an instant before the grant, so that the row never says less
     */
    static MinimumHold ofGrant(long sentAt, LockConfiguration configuration) {
        long until = until(sentAt, configuration);
        return new MinimumHold(until, until);
    }

    /** The state after an extension that was written just now. */
    MinimumHold extended(LockConfiguration extension) {
        return new MinimumHold(inRow, until(System.nanoTime(), extension));
    }

    private static long until(long from, LockConfiguration configuration) {
        return from + Durations.inRange(configuration.getLockAtLeastFor()).toNanos();
    }

    /** How long the lock must still be held because the row would let others have it too early; zero if it need not. */
    Duration toBeHeld() {
        boolean isInRow = wanted - inRow <= 0;
        return isInRow ? Duration.ZERO : Duration.ofNanos(Math.max(0, wanted - System.nanoTime()));
    }
}
