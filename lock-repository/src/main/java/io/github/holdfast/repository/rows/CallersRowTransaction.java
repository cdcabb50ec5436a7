package io.github.holdfast.repository.rows;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.HibernateSessions;
import jakarta.persistence.EntityManager;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Function;
import org.hibernate.Session;

/**
 * A transaction that the caller began and ends. It bypasses the caller's persistence context, because that may contain older
 * versions of the rows.
 */
public final class CallersRowTransaction implements RowTransaction {

    private final RowLocker rows;
    private final EntityManager callers;

    public CallersRowTransaction(RowLocker rows, EntityManager callers) {
        this.rows = rows;
        this.callers = callers;
    }

    @Override
    public Optional<LockEntity> lock(String name, Duration atMost) {
        return beside(entityManager -> rows.lock(entityManager, name, atMost));
    }

    @Override
    public Optional<LockEntity> lockIfFree(String name) {
        return beside(entityManager -> rows.lockIfFree(entityManager, name));
    }

    private <T> T beside(Function<EntityManager, T> work) {
        try (Session beside =
                HibernateSessions.sharing(callers.unwrap(Session.class)).openSession()) {
            return work.apply(beside);
        }
    }

    @Override
    public boolean isActive() {
        return callers.isOpen() && callers.getTransaction().isActive();
    }

    @Override
    public void setRollbackOnly() {
        if (isActive()) {
            callers.getTransaction().setRollbackOnly();
        }
    }

    @Override
    public void close() {}
}
