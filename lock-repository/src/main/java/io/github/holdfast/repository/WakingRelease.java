package io.github.holdfast.repository;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.AutocommitExecutor.Statement;

/** Writes the release of the last hold so that it finds the waiter that is next, and wakes its service. Thread-safe. */
interface WakingRelease {

    /**
     * Writes the release. One statement.
     *
     * @param isLike checks that the row is still as before; see {@link LockExecutor#write}
     * @return false if the row no longer matches
     */
    boolean release(LockExecutor executor, LockEntity before, Statement<Boolean> isLike);
}
