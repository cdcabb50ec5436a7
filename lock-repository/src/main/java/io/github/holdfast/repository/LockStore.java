package io.github.holdfast.repository;

import io.github.holdfast.repository.StoreException.Failure;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Function;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.data.jpa.repository.support.JpaRepositoryFactory;
import org.springframework.orm.jpa.EntityManagerHolder;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.SharedEntityManagerCreator;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.support.DefaultTransactionDefinition;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Runs lock operations, each in a short read-write transaction of its own: whatever transaction and persistence context
 * the calling thread has open is never touched. Thread-safe.
 *
 * <p>No isolation level is set, because that costs one to three round trips for each call: the operations are right at
 * every level, and a conflict that a level causes is reported as {@link Failure#CONFLICT}.
 */
public final class LockStore {

    private final EntityManagerFactory unit;
    private final JpaTransactionManager transactions;
    private final LockRepository locks;
    private final ThreadLocal<Integer> secondsPerStatement = new ThreadLocal<>();

    private LockStore(EntityManagerFactory unit) {
        this.unit = unit;
        // Without the data source, which afterPropertiesSet would detect: a transaction of another manager on that
        // data source would be taken for a misuse, although ours has a connection of its own.
        transactions = new JpaTransactionManager();
        transactions.setEntityManagerFactory(unit);
        JpaRepositoryFactory repositories =
                new JpaRepositoryFactory(SharedEntityManagerCreator.createSharedEntityManager(unit));
        repositories.addRepositoryProxyPostProcessor(
                (proxy, repository) -> proxy.addAdvice((MethodInterceptor) this::fresh));
        locks = repositories.getRepository(LockRepository.class);
    }

    /**
     * Hibernate would show a row that the transaction has read before as it was then, and fail to lock one that has changed
     * since; so each call begins with nothing in memory.
     */
    private @Nullable Object fresh(MethodInvocation call) throws Throwable {
        limitNextStatement();
        if (TransactionSynchronizationManager.getResource(unit) instanceof EntityManagerHolder holder) {
            holder.getEntityManager().clear();
        }
        return call.proceed();
    }

    /** Spring and Hibernate count a transaction's timeout from its begin; this lets each statement have its own. */
    private void limitNextStatement() {
        if (TransactionSynchronizationManager.getResource(unit) instanceof EntityManagerHolder holder) {
            holder.setTimeoutInSeconds(secondsPerStatement.get());
        }
    }

    /**
     * Opens the store of a persistence unit, after checking that it can work there. The checks cost one transaction,
     * which is rolled back.
     *
     * @throws IllegalStateException if the persistence unit or the database is not set up for Holdfast; the message says
     *     what to change
     * @throws StoreException if the database cannot be reached, Holdfast's tables are missing, or it refuses to write
     */
    public static LockStore open(EntityManagerFactory entityManagerFactory) {
        StartupCheck check = new StartupCheck(entityManagerFactory);
        check.persistenceUnit();
        LockStore store = new LockStore(OwnUnit.of(check.sessionFactory()));
        check.database(store);
        return store;
    }

    /**
     * Checks that the application's transactions are of a kind that Holdfast was tried with.
     *
     * @throws IllegalArgumentException if the manager coordinates JTA transactions
     */
    public static void checkSupported(PlatformTransactionManager transactionManager) {
        for (Class<?> type = transactionManager.getClass(); type != null; type = type.getSuperclass()) {
            // By name: the class cannot be loaded where jakarta.transaction is not on the class path.
            if (type.getName().equals("org.springframework.transaction.jta.JtaTransactionManager")) {
                throw new IllegalArgumentException("Holdfast does not support JTA transactions, but the transaction"
                        + " manager is a " + transactionManager.getClass().getName());
            }
        }
    }

    /**
     * Runs the work in a transaction of its own and commits it.
     *
     * @param atMost how long a statement may take, rounded up to whole seconds, before the database is asked to cancel
     *     it; H2 does not while the statement waits for a row
     * @throws StoreException if the database failed; its {@link StoreException#failure} says what became of the writes
     */
    public <T> T inTransaction(Duration atMost, Function<LockRepository, T> work) {
        return run(atMost, work, transactions::commit);
    }

    /** As {@link #inTransaction}, but rolls back what the work wrote. */
    <T> T inRolledBackTransaction(Duration atMost, Function<LockRepository, T> work) {
        return run(atMost, work, transactions::rollback);
    }

    private <T> T run(Duration atMost, Function<LockRepository, T> work, Consumer<TransactionStatus> completion) {
        TransactionStatus transaction = begin(atMost);
        T result;
        try {
            result = work.apply(locks);
        } catch (Throwable thrown) {
            rollBackAfter(thrown, transaction);
            if (SqlErrors.isFromDatabase(thrown)) {
                throw failed(SqlErrors.ofStatement(thrown), thrown);
            }
            throw thrown;
        }
        try {
            completion.accept(transaction);
        } catch (RuntimeException thrown) {
            throw failed(SqlErrors.ofCommit(thrown), thrown);
        }
        return result;
    }

    private TransactionStatus begin(Duration atMost) {
        DefaultTransactionDefinition definition =
                new DefaultTransactionDefinition(TransactionDefinition.PROPAGATION_REQUIRES_NEW);
        definition.setName("holdfast");
        secondsPerStatement.set(seconds(atMost));
        try {
            TransactionStatus transaction = transactions.getTransaction(definition);
            limitNextStatement();
            return transaction;
        } catch (RuntimeException thrown) {
            throw failed(Failure.UNAVAILABLE, thrown);
        }
    }

    private static int seconds(Duration atMost) {
        return (int) Math.min(Math.max(atMost.plusMillis(999).toSeconds(), 1), Integer.MAX_VALUE);
    }

    /** The rollback of a broken connection fails too; what broke it is the better report. */
    private void rollBackAfter(Throwable thrown, TransactionStatus transaction) {
        try {
            transactions.rollback(transaction);
        } catch (RuntimeException alsoFailed) {
            thrown.addSuppressed(alsoFailed);
        }
    }

    private static StoreException failed(Failure failure, Throwable cause) {
        return new StoreException(failure, failure.message(), cause);
    }
}
