package io.github.holdfast.repository.jdbc;

import io.github.holdfast.repository.KnownDialects;
import io.github.holdfast.repository.LockDialect;
import io.github.holdfast.repository.SqlErrors;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.repository.jdbc.AutocommitExecutor.Kind;
import io.github.holdfast.repository.jdbc.AutocommitExecutor.Statement;
import io.github.holdfast.repository.jdbc.StatementTimeout.Watch;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.hibernate.Session;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.hibernate.engine.spi.SharedSessionContractImplementor;
import org.jspecify.annotations.Nullable;
import org.springframework.data.jpa.repository.query.QueryEnhancerFactories;
import org.springframework.data.jpa.repository.support.JpaRepositoryFactory;
import org.springframework.orm.jpa.EntityManagerHolder;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.SharedEntityManagerCreator;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.support.DefaultTransactionDefinition;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.ClassUtils;

/**
 * The transactions of a store, and the Spring Data repositories that work in them. It never touches the calling thread's own
 * transaction and persistence context. Thread-safe.
 */
public final class StoreTransactions implements StatementExecutor {

    private final SessionFactoryImplementor factory;
    private final LockDialect dialect;
    private final SqlErrors errors;
    private final EntityManagerFactory unit;
    private final JpaTransactionManager transactions;
    private final JpaRepositoryFactory repositories;
    private final ConnectionEviction useless;
    private final ThreadLocal<Integer> secondsPerStatement;
    private final StatementTimeout driversTimeout;
    private final StatementTimeout timeout;

    /**
     * Creates the transactions.
     *
     * @param connections the source of their connections; null for the application's own
     */
    public StoreTransactions(SessionFactoryImplementor factory, @Nullable DataSource connections) {
        this.factory = factory;
        unit = IsolatedPersistenceUnit.of(factory, connections);
        // Without afterPropertiesSet, which would detect the data source. Spring would then report another manager's
        // transaction on that data source as misuse, although this manager uses a separate connection.
        transactions = new JpaTransactionManager();
        transactions.setEntityManagerFactory(unit);
        repositories = new JpaRepositoryFactory(SharedEntityManagerCreator.createSharedEntityManager(unit));
        // By default, Spring Data uses the thread's context class loader, which may not see the interfaces.
        repositories.setBeanClassLoader(StoreTransactions.class.getClassLoader());
        if (ClassUtils.isPresent(
                "org.springframework.data.jpa.repository.query.QueryEnhancerSelector",
                StoreTransactions.class.getClassLoader())) {
            SpringData4.leaveQueriesUnparsed(repositories);
        }
        repositories.addRepositoryProxyPostProcessor(
                (proxy, repository) -> proxy.addAdvice((MethodInterceptor) this::fresh));
        useless = ConnectionEviction.of(factory, connections);
        transactions.setJpaDialect(useless.dialect());
        secondsPerStatement = new ThreadLocal<>();
        dialect = KnownDialects.of(factory);
        errors = SqlErrors.of(dialect);
        driversTimeout = StatementTimeout.ofDriver(dialect);
        timeout = driversTimeout;
    }

    private StoreTransactions(StoreTransactions origin, StatementTimeout timeout) {
        factory = origin.factory;
        dialect = origin.dialect;
        errors = origin.errors;
        unit = origin.unit;
        transactions = origin.transactions;
        repositories = origin.repositories;
        useless = origin.useless;
        secondsPerStatement = origin.secondsPerStatement;
        driversTimeout = origin.driversTimeout;
        this.timeout = timeout;
    }

    /** Returns these transactions with another timeout for their commits. */
    public StoreTransactions with(StatementTimeout newTimeout) {
        return new StoreTransactions(this, newTimeout);
    }

    public StatementTimeout timeout() {
        return timeout;
    }

    /** Returns the timeout of the statements in a transaction: the driver cancels them. */
    public StatementTimeout driversTimeout() {
        return driversTimeout;
    }

    public ConnectionEviction useless() {
        return useless;
    }

    public SessionFactoryImplementor factory() {
        return factory;
    }

    /** Returns the name of an entity's table in SQL, with the schema if the mapping has one. */
    public String table(Class<?> entity) {
        return factory.getMappingMetamodel()
                .getEntityDescriptor(entity)
                .getMappedTableDetails()
                .getTableName();
    }

    /** Returns the persistence unit under an identity of its own. */
    public EntityManagerFactory unit() {
        return unit;
    }

    public LockDialect dialect() {
        return dialect;
    }

    public SqlErrors errors() {
        return errors;
    }

    /** Creates a repository whose methods work in the current transaction. Afterwards, {@link MetamodelCache} is filled. */
    public <R> R repository(Class<R> type) {
        return repositories.getRepository(type);
    }

    /** Creates a single repository after the store has created its others, and clears {@link MetamodelCache} again. */
    public <R> R laterRepository(Class<R> type) {
        R created = repository(type);
        MetamodelCache.clear();
        return created;
    }

    /**
     * Clears the persistence context before each call. Otherwise Hibernate would return the old state of a row that the
     * transaction has already read, and fail to lock the row if it has changed since.
     */
    private @Nullable Object fresh(MethodInvocation call) throws Throwable {
        limitNextStatement();
        if (TransactionSynchronizationManager.getResource(unit) instanceof EntityManagerHolder holder) {
            holder.getEntityManager().clear();
        }
        return call.proceed();
    }

    /**
     * Gives the next statement a timeout of its own. Spring and Hibernate count a transaction's timeout from the begin of the
     * transaction.
     */
    private void limitNextStatement() {
        if (TransactionSynchronizationManager.getResource(unit) instanceof EntityManagerHolder holder) {
            holder.setTimeoutInSeconds(secondsPerStatement.get());
        }
    }

    /**
     * Runs the work in the transaction of this entity manager.
     *
     * @param atMost how long each statement may take
     */
    public <T> T within(EntityManager entityManager, Duration atMost, Supplier<T> work) {
        EntityManagerHolder holder = new EntityManagerHolder(entityManager);
        // Otherwise Spring would add it to the caller's transaction, and end it with that transaction.
        holder.setSynchronizedWithTransaction(true);
        secondsPerStatement.set(StatementTimeout.seconds(atMost));
        TransactionSynchronizationManager.bindResource(unit, holder);
        try {
            return work.get();
        } catch (RuntimeException thrown) {
            if (SqlErrors.isFromDatabase(thrown)) {
                throw StoreException.of(errors.ofStatement(thrown), thrown);
            }
            throw thrown;
        } finally {
            TransactionSynchronizationManager.unbindResource(unit);
        }
    }

    /** Executes a statement on the connection of the calling thread's transaction, which is one of {@link #committed}. */
    @Override
    public <T> T execute(Statement<T> statement, Kind kind) {
        EntityManagerHolder holder = (EntityManagerHolder)
                Objects.requireNonNull(TransactionSynchronizationManager.getResource(unit), "no transaction");
        return holder.getEntityManager().unwrap(Session.class).doReturningWork(statement::on);
    }

    /** Runs the work in a transaction of its own and commits it; see {@code LockStore.inTransaction}. */
    public <T> T committed(Duration atMost, Supplier<T> work) {
        return run(atMost, work, transaction -> commit(transaction, atMost));
    }

    /** Does the same as {@link #committed}, but rolls the transaction back. */
    public <T> T rolledBack(Duration atMost, Supplier<T> work) {
        return run(atMost, work, transactions::rollback);
    }

    private interface Completion {
        void of(TransactionStatus transaction) throws SQLException;
    }

    private void commit(TransactionStatus transaction, Duration atMost) throws SQLException {
        if (dialect.isCommitCancellable()
                && TransactionSynchronizationManager.getResource(unit) instanceof EntityManagerHolder holder) {
            Watch commit = timeout.beginCommit(
                    () -> holder.getEntityManager()
                            .unwrap(SharedSessionContractImplementor.class)
                            .getJdbcCoordinator()
                            .getLogicalConnection()
                            .getPhysicalConnection(),
                    atMost);
            TransactionSynchronizationManager.registerSynchronization(endOf(commit));
            transactions.commit(transaction);
        } else {
            transactions.commit(transaction);
        }
    }

    /**
     * Confirms and ends the watched commit before the session closes, because the connection belongs to the session only until
     * then.
     */
    private static TransactionSynchronization endOf(Watch commit) {
        return new TransactionSynchronization() {
            @Override
            public void afterCommit() {
                try {
                    commit.confirm();
                } catch (SQLException inDoubt) {
                    throw StoreException.of(Failure.UNKNOWN, inDoubt);
                }
            }

            @Override
            public void afterCompletion(int status) {
                commit.end();
            }
        };
    }

    private <T> T run(Duration atMost, Supplier<T> work, Completion completion) {
        for (int repetitions = 0; repetitions < 2; repetitions++) {
            try {
                return runOnce(atMost, work, completion);
            } catch (StoreException failed) {
                if (!errors.isInternal(failed)) {
                    throw failed;
                }
            }
        }
        return runOnce(atMost, work, completion);
    }

    private <T> T runOnce(Duration atMost, Supplier<T> work, Completion completion) {
        TransactionStatus transaction = begin(atMost);
        T result;
        try {
            result = work.get();
        } catch (Throwable thrown) {
            throwOutAfter(thrown);
            rollBackAfter(thrown, transaction);
            if (SqlErrors.isFromDatabase(thrown)) {
                throw StoreException.of(errors.ofStatement(thrown), thrown);
            }
            throw thrown;
        }
        try {
            completion.of(transaction);
        } catch (RuntimeException | SQLException thrown) {
            throw StoreException.of(errors.ofCommit(thrown), thrown);
        }
        return result;
    }

    private TransactionStatus begin(Duration atMost) {
        DefaultTransactionDefinition definition =
                new DefaultTransactionDefinition(TransactionDefinition.PROPAGATION_REQUIRES_NEW);
        definition.setName("holdfast");
        secondsPerStatement.set(StatementTimeout.seconds(atMost));
        try {
            TransactionStatus transaction = transactions.getTransaction(definition);
            limitNextStatement();
            return transaction;
        } catch (RuntimeException thrown) {
            throw StoreException.of(SqlErrors.ofBegin(thrown), thrown);
        }
    }

    /** Removes the connection from its pool, if the failure shows that it is of no more use. Call it before the rollback, which returns the connection to its pool. */
    private void throwOutAfter(Throwable thrown) {
        if (TransactionSynchronizationManager.getResource(unit) instanceof EntityManagerHolder holder) {
            useless.throwOutAfter(thrown, holder.getEntityManager());
        }
    }

    /** Rolls back. On a broken connection the rollback fails too, but the first error explains the cause better. */
    private void rollBackAfter(Throwable thrown, TransactionStatus transaction) {
        try {
            transactions.rollback(transaction);
        } catch (RuntimeException alsoFailed) {
            thrown.addSuppressed(alsoFailed);
        }
    }

    /** Loaded only with Spring Data 4. */
    private static final class SpringData4 {

        /** By default, Spring Data parses every query for sorting and counting. No caller needs that. */
        static void leaveQueriesUnparsed(JpaRepositoryFactory repositories) {
            repositories.setQueryEnhancerSelector(query -> QueryEnhancerFactories.fallback());
        }
    }
}
