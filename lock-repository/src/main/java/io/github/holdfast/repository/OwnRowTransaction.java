package io.github.holdfast.repository;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.StoreException.Failure;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityTransaction;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Supplier;

/** Begun for this purpose. It writes nothing. */
final class OwnRowTransaction implements RowTransaction {

    private final LockStore store;
    private final EntityManager entityManager;
    private final UselessConnections useless;

    private boolean hasLocked;

    OwnRowTransaction(LockStore store, EntityManager entityManager, UselessConnections useless) {
        this.store = store;
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
        return locked(() -> store.lockRow(entityManager, name, atMost));
    }

    @Override
    public Optional<LockEntity> lockIfFree(String name) {
        return locked(() -> store.lockRowIfFree(entityManager, name));
    }

    /** While its connection has a row locked, only whoever holds the lock may end it. */
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
     * H2 with a file may undo what somebody else commits just after a rollback: it restores the locked row a second time if the undo
     * log's root is replaced in between ({@code RollbackDecisionMaker} 2.4.240), as each write to the file does. As nothing was
     * written, a commit gives the same back, and restores nothing. On PostgreSQL it would wait for the disk.
     */
    @Override
    public void close() {
        try (EntityManager closed = entityManager) {
            EntityTransaction transaction = closed.getTransaction();
            if (store.isOnH2() && !transaction.getRollbackOnly()) {
                transaction.commit();
            } else {
                transaction.rollback();
            }
        } catch (RuntimeException broken) {
            throw new StoreException(Failure.UNAVAILABLE, Failure.UNAVAILABLE.message(), broken);
        }
    }
}
