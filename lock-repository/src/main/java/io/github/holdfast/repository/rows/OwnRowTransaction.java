package io.github.holdfast.repository.rows;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.repository.jdbc.ConnectionEviction;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityTransaction;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Supplier;

/** A transaction with the sole purpose of locking rows. It writes nothing. */
public final class OwnRowTransaction implements RowTransaction {

    private final RowLocker rows;
    private final EntityManager entityManager;
    private final ConnectionEviction useless;

    private boolean hasLocked;

    public OwnRowTransaction(RowLocker rows, EntityManager entityManager, ConnectionEviction useless) {
        this.rows = rows;
        this.entityManager = entityManager;
        this.useless = useless;
        try {
            entityManager.getTransaction().begin();
        } catch (RuntimeException thrown) {
            useless.throwOutAfter(thrown, entityManager);
            entityManager.close();
            throw thrown;
        }
    }

    @Override
    public Optional<LockEntity> lock(String name, Duration atMost) {
        return locked(() -> rows.lock(entityManager, name, atMost));
    }

    @Override
    public Optional<LockEntity> lockIfFree(String name) {
        return locked(() -> rows.lockIfFree(entityManager, name));
    }

    /**
     * Executes a statement that locks a row. While the connection has a row locked, only the lock's holder may end the
     * transaction.
     */
    private Optional<LockEntity> locked(Supplier<Optional<LockEntity>> statement) {
        try {
            Optional<LockEntity> row = statement.get();
            hasLocked |= row.isPresent();
            return row;
        } catch (StoreException failed) {
            if (!hasLocked) {
                useless.throwOutAfter(failed, entityManager);
            }
            throw failed;
        }
    }

    @Override
    public boolean isActive() {
        return entityManager.isOpen() && entityManager.getTransaction().isActive();
    }

    @Override
    public void setRollbackOnly() {
        entityManager.getTransaction().setRollbackOnly();
    }

    /**
     * Ends the transaction by a rollback, unless the database needs a commit. On PostgreSQL, a commit would wait for the disk.
     */
    @Override
    public void close() {
        try (EntityManager closed = entityManager) {
            EntityTransaction transaction = closed.getTransaction();
            if (rows.endsByCommit() && !transaction.getRollbackOnly()) {
                transaction.commit();
            } else {
                transaction.rollback();
            }
        } catch (RuntimeException broken) {
            throw new StoreException(Failure.UNAVAILABLE, Failure.UNAVAILABLE.message(), broken);
        }
    }
}
