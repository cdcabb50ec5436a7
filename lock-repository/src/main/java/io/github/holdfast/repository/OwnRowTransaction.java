package io.github.holdfast.repository;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.StoreException.Failure;
import jakarta.persistence.EntityManager;
import java.time.Duration;
import java.util.Optional;

/** Begun for this purpose. It writes nothing, and so is rolled back: that cannot remain without an answer. */
final class OwnRowTransaction implements RowTransaction {

    private final LockStore store;
    private final EntityManager entityManager;

    OwnRowTransaction(LockStore store, EntityManager entityManager) {
        this.store = store;
        this.entityManager = entityManager;
        try {
            entityManager.getTransaction().begin();
        } catch (RuntimeException thrown) {
            entityManager.close();
            throw thrown;
        }
    }

    @Override
    public Optional<LockEntity> lock(String name, Duration atMost) {
        return store.lockRow(entityManager, name, atMost);
    }

    @Override
    public Optional<LockEntity> lockIfFree(String name) {
        return store.lockRowIfFree(entityManager, name);
    }

    @Override
    public boolean isActive() {
        return entityManager.isOpen() && entityManager.getTransaction().isActive();
    }

    @Override
    public void setRollbackOnly() {
        entityManager.getTransaction().setRollbackOnly();
    }

    @Override
    public void close() {
        try (EntityManager closed = entityManager) {
            closed.getTransaction().rollback();
        } catch (RuntimeException broken) {
            throw new StoreException(Failure.UNAVAILABLE, Failure.UNAVAILABLE.message(), broken);
        }
    }
}
