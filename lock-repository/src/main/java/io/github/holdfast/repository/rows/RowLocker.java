package io.github.holdfast.repository.rows;

import static org.hibernate.jpa.SpecHints.HINT_SPEC_LOCK_TIMEOUT;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.jdbc.StatementTimeout;
import io.github.holdfast.repository.jdbc.StoreTransactions;
import jakarta.persistence.EntityManager;
import java.time.Duration;
import java.util.Optional;

/** The statements that lock rows in a transaction of the application's connections. Thread-safe. */
public final class RowLocker {

    public static final Duration AT_ONCE = Duration.ofSeconds(1);

    /** The lock timeout that is none, in milliseconds. */
    private static final int WAIT_FOREVER = -1;

    private final StoreTransactions transactions;
    private final JpaTransactionalLockRows locks;

    public RowLocker(StoreTransactions transactions, JpaTransactionalLockRows locks) {
        this.transactions = transactions;
        this.locks = locks;
    }

    /** See {@link RowTransaction#lock}. */
    Optional<LockEntity> lock(EntityManager entityManager, String name, Duration atMost) {
        // H2 ignores a query timeout while a statement waits for a row, so it needs a lock timeout; Hibernate rounds
        // that to whole seconds. On other databases a lock timeout would cost extra statements. The application may
        // have set one globally, so it is switched off here.
        entityManager.setProperty(
                HINT_SPEC_LOCK_TIMEOUT,
                transactions.dialect().isWaitCancellable()
                        ? WAIT_FOREVER
                        : Math.multiplyExact(StatementTimeout.seconds(atMost), 1000));
        return transactions.within(entityManager, atMost, () -> locks.findForUpdate(name, atMost));
    }

    /** See {@link RowTransaction#lockIfFree}. */
    Optional<LockEntity> lockIfFree(EntityManager entityManager, String name) {
        return transactions.within(entityManager, AT_ONCE, () -> locks.findForUpdateSkipLocked(name));
    }

    /** Whether a transaction that has only locked rows must end by a commit. */
    boolean endsByCommit() {
        return transactions.dialect().commitsRowLocks();
    }
}
