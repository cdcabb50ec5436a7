package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.store.PersistenceUnit;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.springframework.orm.jpa.EntityManagerFactoryUtils;
import org.springframework.orm.jpa.EntityManagerHolder;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.vendor.HibernateJpaDialect;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

/** Transactions on a {@link Ledger}, and locks that fence them. */
final class Bookkeeper implements AutoCloseable {

    private final EntityManagerFactory unit;
    private final TransactionTemplate transaction;
    private final LockService locks;

    private Bookkeeper(EntityManagerFactory unit, JpaTransactionManager manager, LockService locks) {
        this.unit = unit;
        this.transaction = new TransactionTemplate(manager);
        this.locks = locks;
    }

    static Bookkeeper on(DataSource connections, UnaryOperator<LockServiceBuilder> settings) {
        Class<?>[] entities = Stream.concat(LockEntity.ENTITIES.stream(), Stream.of(Ledger.Account.class))
                .toArray(Class<?>[]::new);
        EntityManagerFactory unit = PersistenceUnit.of(connections, Map.of(), entities);
        JpaTransactionManager manager = new JpaTransactionManager(unit);
        manager.setJpaDialect(new HibernateJpaDialect());
        LockServiceBuilder builder =
                LockService.builder(unit).transactionManager(manager).withoutHousekeeping();
        return new Bookkeeper(unit, manager, settings.apply(builder).build());
    }

    LockService locks() {
        return locks;
    }

    void inTransaction(Consumer<EntityManager> work) {
        transaction.executeWithoutResult(status ->
                work.accept(Objects.requireNonNull(EntityManagerFactoryUtils.getTransactionalEntityManager(unit))));
    }

    /** With one persistence context for all transactions in it, as in a web request with an open view. */
    void inView(Consumer<EntityManager> work) {
        try (EntityManager view = unit.createEntityManager()) {
            TransactionSynchronizationManager.bindResource(unit, new EntityManagerHolder(view));
            try {
                work.accept(view);
            } finally {
                TransactionSynchronizationManager.unbindResource(unit);
            }
        }
    }

    /** Acquires the lock, does the work, and releases the lock. */
    void underLock(LockRequest request, Consumer<LockHandle> work) {
        try (LockHandle lock = locks.acquire(request)) {
            work.accept(lock);
        } catch (InterruptedException thrown) {
            throw new IllegalStateException(thrown);
        }
    }

    @Override
    public void close() {
        locks.close();
        unit.close();
    }
}
