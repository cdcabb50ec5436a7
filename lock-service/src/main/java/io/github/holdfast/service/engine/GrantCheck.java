package io.github.holdfast.service.engine;

import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.repository.CommitGuard;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.StoreException;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.function.Function;

/** Checks whether grants still stand, inside a caller's transaction, and throws the matching exception. */
final class GrantCheck {

    private GrantCheck() {}

    /**
     * Checks the grants of holds.
     *
     * @param check locks the rows of the grants, and returns the grants that no longer stand
     * @throws LockLostException if a grant no longer stands
     * @throws LockStoreException if the database failed
     */
    static void check(Collection<GuardedHold.Granted> holds, Function<Collection<Grant>, List<Grant>> check) {
        List<Grant> gone;
        try {
            gone = check.apply(
                    holds.stream().map(GuardedHold.Granted::grant).distinct().toList());
        } catch (StoreException failed) {
            throw failed(holds.iterator().next().name(), failed);
        }
        for (GuardedHold.Granted hold : holds) {
            if (gone.contains(hold.grant())) {
                throw hold.lostInTransaction();
            }
        }
    }

    /**
     * Checks the snapshot of the calling thread's transaction, which read data before the hold was granted. The snapshot must
     * contain all earlier commits under the lock.
     *
     * @param seen the grants under which nothing was committed since the transaction began
     * @throws LockStoreException if the snapshot may miss such a commit, and the database itself would not notice that at the
     *     commit
     */
    static void checkSnapshot(GuardedHold.Granted hold, CommitGuard guard, Set<Grant> seen) {
        boolean overlooks;
        try {
            overlooks = guard.snapshotMayMissCommits(hold.grant(), seen);
        } catch (StoreException failed) {
            throw new LockStoreException(
                    hold.name(), "was acquired, but the transaction's snapshot could not be checked", failed);
        }
        if (overlooks) {
            throw new LockStoreException(
                    hold.name(),
                    "was acquired too late: its row was written after the transaction's first read, which may have"
                            + " missed what the former holder committed. Acquire the lock before that read, or use READ"
                            + " COMMITTED",
                    StoreException.overtaken());
        }
    }

    private static LockStoreException failed(String name, StoreException failed) {
        String why = failed.failure().isConflict()
                ? "could not be checked before the commit, because its row was written after the transaction's first"
                        + " read: the lock was lost, or was acquired or renewed after the transaction began"
                : "could not be checked before the commit";
        return new LockStoreException(name, why, failed);
    }
}
