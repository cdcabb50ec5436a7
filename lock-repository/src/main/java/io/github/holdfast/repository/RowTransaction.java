package io.github.holdfast.repository;

import io.github.holdfast.entity.LockEntity;
import java.time.Duration;
import java.util.Optional;

/**
 * A transaction that locks the rows of locks, with {@code select … for update}, until it ends. Used by one thread at a time.
 */
public interface RowTransaction extends AutoCloseable {

    /**
     * Locks a row; waits in the database for whoever has it locked. One statement. Afterwards the row is as it is returned, until
     * the transaction ends.
     *
     * @param atMost how long to wait, rounded up to whole seconds
     * @return empty if the lock has no row
     * @throws StoreException if another transaction has it locked for so long ({@link StoreException.Failure#BUSY}), or the
     *     database failed; some databases go on with the transaction then, others do not
     */
    Optional<LockEntity> lock(String name, Duration atMost);

    /**
     * Locks a row unless another transaction has it locked. One statement, which never waits, and leaves the transaction
     * usable on every database.
     *
     * @return empty if another transaction has it locked, or the lock has no row
     * @throws StoreException if the database failed
     */
    Optional<LockEntity> lockIfFree(String name);

    /** Whether it has not ended. */
    boolean isActive();

    /** Lets the transaction do nothing but roll back. */
    void setRollbackOnly();

    /**
     * Ends the transaction, unless it is a caller's.
     *
     * @throws StoreException if its connection broke: the database has ended it, perhaps before
     */
    @Override
    void close();
}
