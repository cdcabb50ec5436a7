package io.github.holdfast.repository.rows;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.StoreException;
import java.time.Duration;
import java.util.Optional;

/**
 * A transaction that locks rows of locks with {@code select … for update} until it ends. Use it from one thread at a time.
 */
public interface RowTransaction extends AutoCloseable {

    /**
     * Locks a row, and waits in the database for any transaction that has the row locked. One statement. The row then
     * stays unchanged until the transaction ends.
     *
     * @param atMost how long to wait, rounded up to whole seconds
     * @return empty if the lock has no row
     * @throws StoreException if another transaction keeps the row locked for that long
     *     ({@link StoreException.Failure#BUSY}), or the database failed; some databases then continue the transaction,
     *     others do not
     */
    Optional<LockEntity> lock(String name, Duration atMost);

    /**
     * Locks a row unless another transaction has it locked. One statement. It never waits, and the transaction stays
     * usable on every database.
     *
     * @return empty if another transaction has the row locked, or the lock has no row
     * @throws StoreException if the database failed
     */
    Optional<LockEntity> lockIfFree(String name);

    /** Whether the transaction is still open. */
    boolean isActive();

    /** Marks the transaction for rollback only. */
    void setRollbackOnly();

    /**
     * Ends the transaction, unless it is a caller's.
     *
     * @throws StoreException if the connection broke; then the database has ended the transaction, perhaps earlier
     */
    @Override
    void close();
}
