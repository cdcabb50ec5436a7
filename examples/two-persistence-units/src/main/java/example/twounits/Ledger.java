package example.twounits;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LockService;
import jakarta.persistence.EntityManagerFactory;
import java.util.concurrent.atomic.AtomicBoolean;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.SharedEntityManagerCreator;
import org.springframework.transaction.support.TransactionTemplate;

/** Writes to one of the databases, under locks of the same or the other database. */
final class Ledger {

    private final EntityManagerFactory unit;
    private final TransactionTemplate transaction;

    Ledger(EntityManagerFactory unit, JpaTransactionManager transactions) {
        this.unit = unit;
        this.transaction = new TransactionTemplate(transactions);
    }

    /**
     * The result of a transaction.
     *
     * @param isStored whether the transaction has committed
     * @param wasFenced whether the lock fenced the transaction, so that it commits only while the lock is held
     * @param problem the exception; empty if there was none
     */
    record Outcome(boolean isStored, boolean wasFenced, String problem) {}

    /** Stores an entity under a lock, and runs other code before the commit. */
    Outcome store(Object entity, LockService locks, LockRequest request, Runnable meanwhile)
            throws InterruptedException {
        AtomicBoolean wasFenced = new AtomicBoolean();
        String problem = "";
        try (LockHandle lock = locks.acquire(request)) {
            transaction.executeWithoutResult(status -> {
                wasFenced.set(lock.isFenced());
                persist(entity);
                meanwhile.run();
            });
        } catch (LockLostException lost) {
            problem = String.valueOf(lost.getMessage());
        }
        return new Outcome(isStored(entity), wasFenced.get(), problem);
    }

    /** Stores an entity, and then tries to acquire a lock in the same transaction. */
    Outcome storeAndAcquire(Object entity, LockService locks, LockRequest request) {
        String problem = "";
        try {
            transaction.executeWithoutResult(status -> {
                persist(entity);
                locks.tryAcquire(request).ifPresent(LockHandle::close);
            });
        } catch (IllegalStateException refused) {
            problem = String.valueOf(refused.getMessage());
        }
        return new Outcome(isStored(entity), false, problem);
    }

    private void persist(Object entity) {
        SharedEntityManagerCreator.createSharedEntityManager(unit).persist(entity);
    }

    private boolean isStored(Object entity) {
        Object id = unit.getPersistenceUnitUtil().getIdentifier(entity);
        return unit.callInTransaction(em -> em.find(entity.getClass(), id)) != null;
    }
}
