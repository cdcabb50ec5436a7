package io.github.holdfast.repository.store;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.DatabaseRisk;
import io.github.holdfast.repository.HibernateSessions;
import io.github.holdfast.repository.SqlErrors;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.jdbc.ConnectionEviction;
import io.github.holdfast.repository.jdbc.HikariPools;
import io.github.holdfast.repository.jdbc.MetamodelCache;
import io.github.holdfast.repository.jdbc.StoreTransactions;
import io.github.holdfast.repository.rows.AutocommitWaiterRows;
import io.github.holdfast.repository.rows.CallersRowTransaction;
import io.github.holdfast.repository.rows.H2RowLocks;
import io.github.holdfast.repository.rows.HolderRows;
import io.github.holdfast.repository.rows.JpaHolderRows;
import io.github.holdfast.repository.rows.JpaLockRows;
import io.github.holdfast.repository.rows.JpaTransactionalLockRows;
import io.github.holdfast.repository.rows.LockAuditRepository;
import io.github.holdfast.repository.rows.LockNodeRepository;
import io.github.holdfast.repository.rows.LockPageRepository;
import io.github.holdfast.repository.rows.LockRepository;
import io.github.holdfast.repository.rows.LockRows;
import io.github.holdfast.repository.rows.LockRunRepository;
import io.github.holdfast.repository.rows.LockSearchRepository;
import io.github.holdfast.repository.rows.LockStatements;
import io.github.holdfast.repository.rows.LockWaiterRepository;
import io.github.holdfast.repository.rows.OwnRowTransaction;
import io.github.holdfast.repository.rows.PermitRepository;
import io.github.holdfast.repository.rows.RowLocker;
import io.github.holdfast.repository.rows.RowTransaction;
import io.github.holdfast.repository.rows.TransactionalLockRows;
import io.github.holdfast.repository.rows.WakingRelease;
import io.github.holdfast.repository.wakeup.MysqlWakeUpChannel;
import io.github.holdfast.repository.wakeup.PostgresWakeUpChannel;
import io.github.holdfast.repository.wakeup.WaitingNodesCache;
import io.github.holdfast.repository.wakeup.WakeUpChannel;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.PersistenceException;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.hibernate.Session;
import org.hibernate.cfg.AvailableSettings;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.jspecify.annotations.Nullable;
import org.springframework.util.function.SingletonSupplier;

/** The store of a persistence unit, by its JPA provider. */
final class JpaLockStore implements LockStore {

    private final StoreTransactions transactions;
    private final LockRepository lockQueries;
    private final LockAuditRepository audits;
    private final @Nullable H2RowLocks rowLocks;
    private final LockNodeRepository nodes;
    private final LockPageRepository pages;
    private final Supplier<LockSearchRepository> search;
    private final LockRunRepository runs;
    private final PermitRepository holders;
    private final HolderRows permits;
    private final LockStatements statements;
    private final LockWaiterRepository waiterQueries;
    private final AutocommitWaiterRows.Statements waiters;
    private final ConnectionEviction uselessOfApplication;
    private final @Nullable String severalWriters;

    private final PostgresWakeUpChannel.Name channelName;

    private final boolean hasOwnConnections;

    /** The local clock; null in a store whose drivers cancel its statements. There, each release asks which waiter is next. */
    private final @Nullable LongSupplier nanoClock;

    private final Function<Duration, JpaTransactionalLockRows> transactional = this::locks;

    /** Writes the releases that wake a waiter; null until this store has opened its channel. */
    private volatile @Nullable WakingRelease waking;

    /** Does the same, but does not always ask which waiter is next. Only for releases that are committed at once. */
    private volatile @Nullable WakingRelease wakingIfAwaited;

    private JpaLockStore(
            SessionFactoryImplementor factory, @Nullable DataSource connections, @Nullable String severalWriters) {
        this.severalWriters = severalWriters;
        hasOwnConnections = connections != null;
        nanoClock = null;
        transactions = new StoreTransactions(factory, connections);
        channelName = new PostgresWakeUpChannel.Name();
        lockQueries = transactions.repository(LockRepository.class);
        audits = transactions.repository(LockAuditRepository.class);
        rowLocks = H2RowLocks.ifNeeded(transactions);
        nodes = transactions.repository(LockNodeRepository.class);
        pages = transactions.repository(LockPageRepository.class);
        search = SingletonSupplier.of(() -> transactions.laterRepository(LockSearchRepository.class));
        runs = transactions.repository(LockRunRepository.class);
        holders = transactions.repository(PermitRepository.class);
        permits = new JpaHolderRows(holders, audits);
        waiterQueries = transactions.repository(LockWaiterRepository.class);
        MetamodelCache.clear();
        statements = new LockStatements(factory, connections);
        waiters = new AutocommitWaiterRows.Statements(factory);
        uselessOfApplication = ConnectionEviction.of(factory, null);
    }

    private JpaLockStore(JpaLockStore origin, LongSupplier nanoClock) {
        this.nanoClock = nanoClock;
        transactions = origin.transactions.with(origin.transactions.timeout().cancelling(nanoClock));
        lockQueries = origin.lockQueries;
        audits = origin.audits;
        rowLocks = origin.rowLocks;
        nodes = origin.nodes;
        pages = origin.pages;
        search = origin.search;
        runs = origin.runs;
        holders = origin.holders;
        permits = origin.permits;
        statements = origin.statements;
        waiterQueries = origin.waiterQueries;
        waiters = origin.waiters;
        uselessOfApplication = origin.uselessOfApplication;
        severalWriters = origin.severalWriters;
        channelName = origin.channelName;
        hasOwnConnections = origin.hasOwnConnections;
    }

    /** See {@link LockStore#open(EntityManagerFactory)}. */
    static LockStore open(EntityManagerFactory entityManagerFactory) {
        StartupCheck check = new StartupCheck(entityManagerFactory);
        check.persistenceUnit();
        String severalWriters = check.connections(null).orElse(null);
        JpaLockStore store = new JpaLockStore(check.sessionFactory(), null, severalWriters);
        TableCheck.of(store, check.sessionFactory(), null);
        return store;
    }

    /** See {@link LockStore#open(EntityManagerFactory, DataSource)}. */
    static LockStore open(EntityManagerFactory entityManagerFactory, DataSource lockDataSource) {
        StartupCheck.refuseProxy("lock service's", lockDataSource);
        StartupCheck check = new StartupCheck(entityManagerFactory);
        check.persistenceUnit();
        String severalWriters = check.connections(lockDataSource).orElse(null);
        JpaLockStore store = new JpaLockStore(check.sessionFactory(), lockDataSource, severalWriters);
        TableCheck.of(store, check.sessionFactory(), lockDataSource);
        check.pooler(null);
        check.isSameDatabase(store, new JpaLockStore(check.sessionFactory(), null, severalWriters));
        return store;
    }

    @Override
    public LockStore cancellingOverdue(LongSupplier nanoClock) {
        return new JpaLockStore(this, nanoClock);
    }

    @Override
    public void close() {
        transactions.timeout().close();
    }

    @Override
    public Optional<String> severalWriters() {
        return Optional.ofNullable(severalWriters);
    }

    @Override
    public int mostGuardsOfRow() {
        return transactions.dialect().mostGuardsOfRow();
    }

    @Override
    public Map<DatabaseRisk, String> risks() {
        List<String> tables =
                LockEntity.ENTITIES.stream().map(transactions::table).toList();
        try (Session session = transactions.unit().createEntityManager().unwrap(Session.class)) {
            return session.doReturningWork(connection -> transactions.dialect().risks(connection, tables));
        } catch (PersistenceException thrown) {
            throw StoreException.of(transactions.errors().ofStatement(thrown), thrown);
        }
    }

    @Override
    public void checkTenant() {
        StartupCheck.tenant(transactions.factory());
    }

    @Override
    public String database() {
        return transactions.dialect().label();
    }

    @Override
    public Comparator<String> nameOrder() {
        return transactions.dialect().nameOrder();
    }

    @Override
    public String persistenceUnit() {
        return Objects.toString(
                transactions.factory().getProperties().get(AvailableSettings.PERSISTENCE_UNIT_NAME), "");
    }

    @Override
    public boolean hasOwnConnections() {
        return hasOwnConnections;
    }

    @Override
    public boolean hasRowLocks() {
        return transactions.dialect().hasRowLocks();
    }

    @Override
    public LockNodeRepository nodes() {
        return nodes;
    }

    @Override
    public LockPageRepository pages() {
        return pages;
    }

    @Override
    public LockSearchRepository search() {
        return search.get();
    }

    /** Whether a lock has both holders and waiters. The answer needs all columns of their tables, for the start-up check. */
    boolean hasHoldersAndWaiters(String name) {
        return !holders.holdersAndWaiters(name).isEmpty();
    }

    @Override
    public LockRunRepository runs() {
        return runs;
    }

    @Override
    public HolderRows permits() {
        return permits;
    }

    @Override
    public Optional<WakeUpChannel> wakeUpChannel(Consumer<Runnable> background) {
        if (severalWriters != null) {
            return Optional.empty();
        }
        return switch (transactions.dialect().wakeUp()) {
            case NONE -> Optional.empty();
            case NOTIFICATIONS ->
                channelName
                        .in(transactions)
                        .map(name -> opened(PostgresWakeUpChannel.of(transactions, waiterQueries, name), background));
            case BELL ->
                Optional.of(opened(
                        new MysqlWakeUpChannel(transactions, statements.executor(), waiterQueries, background),
                        background));
        };
    }

    private <C extends WakeUpChannel & WakingRelease> WakeUpChannel opened(C channel, Consumer<Runnable> background) {
        waking = channel;
        LongSupplier clock = nanoClock;
        wakingIfAwaited = clock == null
                ? channel
                : new WaitingNodesCache(
                        channel,
                        channel::wakeNext,
                        () -> waiters(WaitingNodesCache.AT_MOST).isAnyNodeWaiting(channel.bell()),
                        background,
                        clock);
        return channel;
    }

    @Override
    public boolean canListen() {
        return !transactions.useless().isPoolSmallerThan(HikariPools.LEAST_FOR_WAKE_UP);
    }

    @Override
    public AutocommitWaiterRows waiters(Duration atMost) {
        return new AutocommitWaiterRows(waiters, statements.executor(), transactions, atMost);
    }

    @Override
    public <T> T inTransaction(Duration atMost, Function<TransactionalLockRows, T> work) {
        return transactions.committed(atMost, () -> work.apply(locks(atMost)));
    }

    @Override
    public LockRows autocommit(Duration atMost) {
        return new JpaLockRows(statements, lockQueries, transactions, atMost, wakingIfAwaited, transactional);
    }

    @Override
    public <T> T inTransaction(Duration atMost, Supplier<T> work) {
        return transactions.committed(atMost, work);
    }

    @Override
    public RowTransaction beginRowTransaction() {
        try {
            Session session = HibernateSessions.of(transactions.factory()).openSession();
            return new OwnRowTransaction(rowLocker(), session, uselessOfApplication);
        } catch (RuntimeException thrown) {
            throw StoreException.of(SqlErrors.ofBegin(thrown), thrown);
        }
    }

    @Override
    public RowTransaction joinRowTransaction(CommitGuard guard) {
        return new CallersRowTransaction(rowLocker(), guard.requiredEntityManager());
    }

    private RowLocker rowLocker() {
        return new RowLocker(transactions, locks(RowLocker.AT_ONCE));
    }

    /** Returns the rows in the current transaction. */
    private JpaTransactionalLockRows locks(Duration atMost) {
        return new JpaTransactionalLockRows(statements, lockQueries, transactions, atMost, waking, audits, rowLocks);
    }

    /** Does the same as {@link #inTransaction(Duration, Function)}, but rolls the transaction back. */
    <T> T inRolledBackTransaction(Duration atMost, Function<TransactionalLockRows, T> work) {
        return transactions.rolledBack(atMost, () -> work.apply(locks(atMost)));
    }
}
