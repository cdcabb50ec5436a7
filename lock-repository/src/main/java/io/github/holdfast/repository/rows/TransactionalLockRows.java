package io.github.holdfast.repository.rows;

import io.github.holdfast.entity.LockEntity;
import java.time.Duration;
import java.util.Optional;

/**
 * The rows of the locks in the current transaction. It adds operations that need a longer transaction: row locks, which
 * last until the transaction ends, and takeovers, which accompany other writes. Thread-safe.
 */
public interface TransactionalLockRows extends LockRows {

    /**
     * Reads a lock and locks its row until the transaction ends. It waits for any transaction that has the row locked. The
     * row must exist. On MySQL and MariaDB, locking a missing row takes gap locks, and these deadlock with transactions
     * that create the row.
     *
     * @return empty if the lock has no row
     */
    Optional<LockEntity> findForUpdate(String name);

    /**
     * Does the same as {@link #findForUpdate}, but skips a row that another transaction has locked.
     *
     * @return empty if the lock has no row, or another transaction has it locked
     */
    Optional<LockEntity> findForUpdateSkipLocked(String name);

    /**
     * Takes the lock from its holder, dead or alive, as {@link LockEntity#takenFromHolder} computed it. It grants the lock to no owner. One
     * statement.
     *
     * @param before the state that the decision was based on; held
     * @param after the state to write
     * @param delay the minimum time after the write before another grant
     * @return false if the row no longer matches {@code before}
     */
    boolean takeFromHolder(LockEntity before, LockEntity after, Duration delay);

    /**
     * Keeps a lock unavailable for longer, after this transaction has written its row. One statement.
     *
     * @param written the row as it was written
     * @param delay the minimum time after this write before another grant
     */
    void delay(LockEntity written, Duration delay);

    /**
     * Records a forced release in the audit log. One statement.
     *
     * @param before the lock as it was held before the release
     * @param doneBy describes the caller that forced the release, for people
     * @param reason why
     */
    void recordForcedRelease(LockEntity before, String doneBy, String reason);

    /** Whether the audit log contains a forced release of the grant with this token. One statement. */
    boolean wasForced(String name, long fencingToken);
}
