package io.github.holdfast.repository;

import static org.hibernate.jpa.SpecHints.HINT_SPEC_LOCK_TIMEOUT;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.StoreException.Failure;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.hibernate.Timeouts;
import org.hibernate.dialect.H2Dialect;
import org.hibernate.dialect.PostgreSQLDialect;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.hibernate.engine.spi.SharedSessionContractImplementor;
import org.jspecify.annotations.Nullable;
import org.springframework.data.jpa.repository.query.QueryEnhancerFactories;
import org.springframework.data.jpa.repository.support.JpaRepositoryFactory;
import org.springframework.orm.jpa.EntityManagerHolder;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.SharedEntityManagerCreator;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.support.DefaultTransactionDefinition;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Runs lock operations, each in a short read-write transaction of its own: whatever transaction and persistence context
 * the calling thread has open is never touched. Thread-safe.
 *
 * <p>No isolation level is set, because that costs one to three round trips for each call: the operations are right at
 * every level, and a conflict that a level causes is reported as {@link Failure#CONFLICT}.
 */
public final class LockStore {

    private static final Duration AT_ONCE = Duration.ofSeconds(1);

    private final EntityManagerFactory unit;
    private final SessionFactoryImplementor factory;
    private final JpaTransactionManager transactions;
    private final LockRepository locks;
    private final LockNodeRepository nodes;
    private final LockVacancyRepository vacancies;
    private final LockTableRepository table;
    private final LockAuditRepository audits;
    private final LockRunRepository runs;
    private final JpaRepositoryFactory repositories;
    private final StandaloneStatements statements;
    private final Cluster cluster;
    private final ThreadLocal<Integer> secondsPerStatement;
    private final StatementWatch watch;
    private final UselessConnections useless;
    private final UselessConnections uselessOfApplication;

    private LockStore(SessionFactoryImplementor factory, @Nullable DataSource connections, Cluster cluster) {
        this.factory = factory;
        this.cluster = cluster;
        this.unit = OwnUnit.of(factory, connections);
        secondsPerStatement = new ThreadLocal<>();
        watch = StatementWatch.NONE;
        // Without the data source, which afterPropertiesSet would detect: a transaction of another manager on that
        // data source would be taken for a misuse, although ours has a connection of its own.
        transactions = new JpaTransactionManager();
        transactions.setEntityManagerFactory(unit);
        repositories = new JpaRepositoryFactory(SharedEntityManagerCreator.createSharedEntityManager(unit));
        // To know how to sort and count, which is asked of none of them, Spring Data would parse every query.
        repositories.setQueryEnhancerSelector(query -> QueryEnhancerFactories.fallback());
        repositories.addRepositoryProxyPostProcessor(
                (proxy, repository) -> proxy.addAdvice((MethodInterceptor) this::fresh));
        locks = repositories.getRepository(LockRepository.class);
        nodes = repositories.getRepository(LockNodeRepository.class);
        vacancies = repositories.getRepository(LockVacancyRepository.class);
        table = repositories.getRepository(LockTableRepository.class);
        audits = repositories.getRepository(LockAuditRepository.class);
        runs = repositories.getRepository(LockRunRepository.class);
        MetamodelCache.clear();
        statements = new StandaloneStatements(this, factory, connections);
        useless = UselessConnections.of(factory, connections);
        uselessOfApplication = UselessConnections.of(factory, null);
        transactions.setJpaDialect(useless.dialect());
    }

    private LockStore(LockStore origin, StatementWatch watch) {
        this.watch = watch;
        unit = origin.unit;
        factory = origin.factory;
        transactions = origin.transactions;
        locks = origin.locks;
        nodes = origin.nodes;
        vacancies = origin.vacancies;
        table = origin.table;
        audits = origin.audits;
        runs = origin.runs;
        repositories = origin.repositories;
        statements = origin.statements;
        useless = origin.useless;
        uselessOfApplication = origin.uselessOfApplication;
        cluster = origin.cluster;
        secondsPerStatement = origin.secondsPerStatement;
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
        Cluster cluster = check.connections(OwnUnit.of(check.sessionFactory(), null));
        LockStore store = new LockStore(check.sessionFactory(), null, cluster);
        check.tables(store);
        return store;
    }

    /**
     * As {@link #open(EntityManagerFactory)}, but lock operations have connections of their own. That these lead to the
     * same database as the persistence unit's is proved by a row that is written through one, read through the other, and
     * deleted.
     *
     * @param lockDataSource where lock operations have their connections from; not closed by the store
     * @throws IllegalStateException also if it leads to another database or schema
     */
    public static LockStore open(EntityManagerFactory entityManagerFactory, DataSource lockDataSource) {
        StartupCheck.refuseProxy("lock service's", lockDataSource);
        StartupCheck check = new StartupCheck(entityManagerFactory);
        check.persistenceUnit();
        Cluster cluster = check.connections(OwnUnit.of(check.sessionFactory(), lockDataSource));
        LockStore store = new LockStore(check.sessionFactory(), lockDataSource, cluster);
        check.tables(store);
        check.pooler(OwnUnit.of(check.sessionFactory(), null));
        check.isSameDatabase(store, new LockStore(check.sessionFactory(), null, cluster));
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
     * Returns this store with a watch over what it writes: the updates of {@link #standalone}, but not on H2, which has a limit of its
     * own, and on PostgreSQL its commits. Without one, drivers cancel updates, and nothing ends a commit.
     *
     * @param watch which cancels what takes too long
     */
    public LockStore watchedBy(StatementWatch watch) {
        return new LockStore(this, watch);
    }

    StatementWatch watch() {
        return watch;
    }

    /** Returns what was found out, when the store was opened, about who writes the database. */
    public Cluster cluster() {
        return cluster;
    }

    /** Returns the rows of the nodes, for work inside {@link #inTransaction(Duration, Function)}. */
    public LockNodeRepository nodes() {
        return nodes;
    }

    /** Returns the ways to take locks from their holders, for work inside {@link #inTransaction(Duration, Function)}. */
    public LockVacancyRepository vacancies() {
        return vacancies;
    }

    /** Returns stretches of the tables, for work inside {@link #inTransaction(Duration, Function)}. */
    public LockTableRepository table() {
        return table;
    }

    /** Returns the record of forced releases, for work inside {@link #inTransaction(Duration, Function)}. */
    public LockAuditRepository audits() {
        return audits;
    }

    /** Returns the runs of tasks, for work inside {@link #inTransaction(Duration, Function)}. */
    public LockRunRepository runs() {
        return runs;
    }

    /**
     * Opens the channel through which releases wake those who wait on other nodes.
     *
     * @throws IllegalStateException if this is not PostgreSQL with its own driver
     * @throws StoreException if the database failed
     */
    public WakeUpChannel wakeUpChannel() {
        WakeUpChannel.checkSupported(unit);
        LockWakeUpRepository notifying = repositories.getRepository(LockWakeUpRepository.class);
        MetamodelCache.clear();
        return WakeUpChannel.of(this, unit, notifying);
    }

    /**
     * Runs the work in a transaction of its own and commits it. On H2, work that an internal error of the database stopped
     * before the commit is run again, at most twice.
     *
     * @param atMost how long a statement may take, rounded up to whole seconds, before the database is asked to cancel
     *     it; H2 does not while the statement waits for a row. A commit may take as long, if it is {@linkplain #watchedBy watched}
     * @throws StoreException if the database failed; its {@link StoreException#failure} says what became of the writes
     */
    public <T> T inTransaction(Duration atMost, Function<LockRepository, T> work) {
        return run(atMost, work, transaction -> commit(transaction, atMost));
    }

    /**
     * Returns the rows of the locks for calls that are a transaction each. On a connection in autocommit mode, {@code read},
     * {@code grant} and {@code release} cost one round trip. A lock on a row that such a call takes is given back with it.
     *
     * @param atMost how long each statement may take, as in {@link #inTransaction(Duration, Function)}
     * @return what throws {@link StoreException} if the database failed; thread-safe
     */
    public LockRepository standalone(Duration atMost) {
        return new StandaloneLocks(this, statements, atMost);
    }

    /** As {@link #inTransaction(Duration, Function)}, for work that is not about one lock. */
    public <T> T inTransaction(Duration atMost, Supplier<T> work) {
        return inTransaction(atMost, anyLock -> work.get());
    }

    /**
     * Begins a transaction of its own, on a connection that is the application's even if lock operations have others: it is in
     * use until the transaction is closed.
     *
     * @throws StoreException if there is no connection
     */
    public RowTransaction beginRowTransaction() {
        try {
            return new OwnRowTransaction(this, factory.createEntityManager(), uselessOfApplication);
        } catch (RuntimeException thrown) {
            throw StoreException.of(SqlErrors.ofBegin(thrown), thrown);
        }
    }

    /**
     * Returns the calling thread's transaction.
     *
     * @param guard which knows it
     * @throws IllegalStateException if there is none of the guard's manager
     */
    public RowTransaction joinRowTransaction(CommitGuard guard) {
        return new CallersRowTransaction(this, guard.requiredEntityManager());
    }

    /** See {@link RowTransaction#lock}. */
    Optional<LockEntity> lockRow(EntityManager entityManager, String name, Duration atMost) {
        // H2 heeds no query timeout while it waits for a row, and Hibernate rounds to whole seconds. On the others it
        // would cost statements; but the application may have set a lock timeout for everything, so it is set to none.
        entityManager.setProperty(
                HINT_SPEC_LOCK_TIMEOUT,
                isOnH2() ? Math.multiplyExact(seconds(atMost), 1000) : Timeouts.WAIT_FOREVER_MILLI);
        return with(entityManager, atMost, repository -> repository.findForUpdate(name));
    }

    boolean isOnH2() {
        return factory.getJdbcServices().getDialect() instanceof H2Dialect;
    }

    /** See {@link RowTransaction#lockIfFree}. */
    Optional<LockEntity> lockRowIfFree(EntityManager entityManager, String name) {
        return with(entityManager, AT_ONCE, repository -> repository.findForUpdateSkipLocked(name));
    }

    /** In the transaction that this entity manager has. */
    <T> T with(EntityManager entityManager, Duration atMost, Function<LockRepository, T> work) {
        EntityManagerHolder holder = new EntityManagerHolder(entityManager);
        // Or Spring would take it into the caller's transaction, and end it with that.
        holder.setSynchronizedWithTransaction(true);
        secondsPerStatement.set(seconds(atMost));
        TransactionSynchronizationManager.bindResource(unit, holder);
        try {
            return work.apply(locks);
        } catch (RuntimeException thrown) {
            if (SqlErrors.isFromDatabase(thrown)) {
                throw StoreException.of(SqlErrors.ofStatement(thrown), thrown);
            }
            throw thrown;
        } finally {
            TransactionSynchronizationManager.unbindResource(unit);
        }
    }

    /** As {@link #inTransaction(Duration, Function)}, but rolls back what the work wrote. */
    <T> T inRolledBackTransaction(Duration atMost, Function<LockRepository, T> work) {
        return run(atMost, work, transactions::rollback);
    }

    private interface Completion {
        void of(TransactionStatus transaction) throws SQLException;
    }

    private void commit(TransactionStatus transaction, Duration atMost) throws SQLException {
        if (factory.getJdbcServices().getDialect() instanceof PostgreSQLDialect
                && TransactionSynchronizationManager.getResource(unit) instanceof EntityManagerHolder holder) {
            WatchedCommit commit = WatchedCommit.begin(
                    () -> holder.getEntityManager()
                            .unwrap(SharedSessionContractImplementor.class)
                            .getJdbcCoordinator()
                            .getLogicalConnection()
                            .getPhysicalConnection(),
                    watch,
                    atMost);
            TransactionSynchronizationManager.registerSynchronization(endOf(commit));
            transactions.commit(transaction);
        } else {
            transactions.commit(transaction);
        }
    }

    /** Both before the session is closed, which has the connection until then. */
    private static TransactionSynchronization endOf(WatchedCommit commit) {
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

    private <T> T run(Duration atMost, Function<LockRepository, T> work, Completion completion) {
        for (int repetitions = 0; repetitions < 2; repetitions++) {
            try {
                return runOnce(atMost, work, completion);
            } catch (StoreException failed) {
                if (!SqlErrors.isInternalToH2(failed)) {
                    throw failed;
                }
            }
        }
        return runOnce(atMost, work, completion);
    }

    private <T> T runOnce(Duration atMost, Function<LockRepository, T> work, Completion completion) {
        TransactionStatus transaction = begin(atMost);
        T result;
        try {
            result = work.apply(locks);
        } catch (Throwable thrown) {
            throwOutAfter(thrown);
            rollBackAfter(thrown, transaction);
            if (SqlErrors.isFromDatabase(thrown)) {
                throw StoreException.of(SqlErrors.ofStatement(thrown), thrown);
            }
            throw thrown;
        }
        try {
            completion.of(transaction);
        } catch (RuntimeException | SQLException thrown) {
            throw StoreException.of(SqlErrors.ofCommit(thrown), thrown);
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
            throw StoreException.of(SqlErrors.ofBegin(thrown), thrown);
        }
    }

    static int seconds(Duration atMost) {
        return (int) Math.min(Math.max(atMost.plusMillis(999).toSeconds(), 1), Integer.MAX_VALUE);
    }

    /** Before the rollback, which gives the connection back to its pool. */
    private void throwOutAfter(Throwable thrown) {
        if (TransactionSynchronizationManager.getResource(unit) instanceof EntityManagerHolder holder) {
            useless.throwOutAfter(thrown, holder.getEntityManager());
        }
    }

    /** The rollback of a broken connection fails too; what broke it is the better report. */
    private void rollBackAfter(Throwable thrown, TransactionStatus transaction) {
        try {
            transactions.rollback(transaction);
        } catch (RuntimeException alsoFailed) {
            thrown.addSuppressed(alsoFailed);
        }
    }
}
