package io.github.holdfast.faults.model.shares;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * An acquisition that is under way.
 *
 * @param owner made for this acquisition
 * @param seen the row that it has read; null in phase LOOKING
 * @param used how many permits were used then
 * @param target the token of the holder to be removed, the node to be ended, or in phase PENDING how long the hold will be valid
 */
record Attempt(int owner, Phase phase, @Nullable LockRow seen, int used, int target) {

    enum Phase {
        /** About to read. */
        LOOKING,
        /** An exclusive acquisition has read that the lock was shared, and is about to read the holders. */
        SHARED_SEEN,
        /** A dead holder is in the way, and is to be removed. */
        REMOVING,
        /** The node of a holder is overdue, and is to be ended. */
        ENDING,
        /** A dead exclusive holder has left the lock, which is to be freed. */
        FREEING,
        /** Nobody is in the way, and the grant is not sent. */
        DECIDED,
        /** The grant to a shared holder is executed, and not committed. */
        PENDING,
        /** That grant had no answer. */
        UNANSWERED
    }

    static Attempt begun(int owner) {
        return new Attempt(owner, Phase.LOOKING, null, 0, 0);
    }

    Attempt looking() {
        return begun(owner);
    }

    Attempt in(Phase next, LockRow row) {
        return new Attempt(owner, next, row.seen(), 0, 0);
    }

    Attempt decided(LockRow row, int usedNow) {
        return new Attempt(owner, Phase.DECIDED, row.seen(), usedNow, 0);
    }

    Attempt removing(HolderRow dead) {
        return new Attempt(owner, Phase.REMOVING, null, 0, dead.token());
    }

    Attempt ending(int node) {
        return new Attempt(owner, Phase.ENDING, null, 0, node);
    }

    Attempt pending() {
        return new Attempt(owner, Phase.PENDING, seen, 0, Scenario.LEASE);
    }

    Attempt unanswered() {
        return new Attempt(owner, Phase.UNANSWERED, seen, 0, 0);
    }

    /** The row that a write was or will be based on. */
    LockRow basis() {
        return Objects.requireNonNull(seen, "no row was read");
    }

    Attempt later() {
        return phase == Phase.PENDING ? new Attempt(owner, phase, seen, used, Math.max(0, target - 1)) : this;
    }
}
