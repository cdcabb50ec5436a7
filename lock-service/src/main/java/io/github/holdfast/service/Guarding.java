package io.github.holdfast.service;

import io.github.holdfast.repository.CommitGuard;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.StoreException;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.function.Function;

/** Says what it means when grants no longer stand in a caller's transaction. */
final class Guarding {

    private Guarding() {}

    /**
     * Checks the grants of holds.
     *
     * @param check locks the rows of grants and returns those that no longer stand
     * @throws LockLostException if one no longer stands
     * @throws LockStoreException if the database failed
     */
    static void check(Collection<Hold> holds, Function<Collection<Grant>, List<Grant>> check) {
        List<Grant> gone;
        try {
            gone = check.apply(holds.stream().map(Hold::grant).toList());
        } catch (StoreException failed) {
            throw failed(holds.iterator().next().name(), failed);
        }
        for (Hold hold : holds) {
            if (gone.contains(hold.grant())) {
                throw hold.lifetime().lostInTransaction();
            }
        }
    }

    /**
     * Checks that the calling thread's transaction, which has read before the hold was granted, sees what was committed under the
     * lock before.
     *
     * @param seen grants under which nothing was committed since the transaction began
     * @throws LockStoreException if it may not, as far as the database does not notice itself when it commits
     */
    static void checkSnapshot(Hold hold, CommitGuard guard, Set<Grant> seen) {
        boolean overlooks;
        try {
            overlooks = guard.mayOverlookWhatWasBefore(hold.grant(), seen);
        } catch (StoreException failed) {
            throw new LockStoreException(
                    hold.name(), "was acquired, but the transaction could not be asked what it sees", failed);
        }
        if (overlooks) {
            throw new LockStoreException(
                    hold.name(),
                    "was acquired too late: its row was written after the transaction's first read, which may have missed what"
                            + " the former holder has committed. Acquire it before that, or use READ COMMITTED",
                    StoreException.overtaken());
        }
    }

    private static LockStoreException failed(String name, StoreException failed) {
        String why = failed.failure().isConflict()
                ? "could not be checked before the commit, because its row was written after the transaction's first read:"
                        + " it was lost, or was not acquired and renewed before the transaction began"
                : "could not be checked before the commit";
        return new LockStoreException(name, why, failed);
    }
}
