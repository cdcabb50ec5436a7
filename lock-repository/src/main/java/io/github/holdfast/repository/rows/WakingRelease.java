package io.github.holdfast.repository.rows;

import io.github.holdfast.entity.LockEntity;

/** Writes the release of the last hold so that it finds the waiter that is next, and wakes its service. Thread-safe. */
public interface WakingRelease {

    /**
     * Writes the release. One statement.
     *
     * @return false if the row no longer matches
     */
    boolean release(JpaLockRows locks, LockEntity before);
}
