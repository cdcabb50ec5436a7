package io.github.holdfast.repository.memory;

import io.github.holdfast.repository.DatabaseRisk;
import io.github.holdfast.repository.rows.HolderRows;
import io.github.holdfast.repository.rows.LockNodeRepository;
import io.github.holdfast.repository.rows.LockPageRepository;
import io.github.holdfast.repository.rows.LockRows;
import io.github.holdfast.repository.rows.LockRunRepository;
import io.github.holdfast.repository.rows.LockSearchRepository;
import io.github.holdfast.repository.rows.RowTransaction;
import io.github.holdfast.repository.rows.TransactionalLockRows;
import io.github.holdfast.repository.rows.WaiterRows;
import io.github.holdfast.repository.store.CommitGuard;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.repository.wakeup.WakeUpChannel;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Comparator;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A double of the store, for tests of what stands on it. It passes the tests of the ports that the databases pass. What only a database
 * promises is left out: row locks and callers' transactions throw, and releases wake nobody.
 */
public final class InMemoryLockStore implements LockStore {

    private final InMemoryDatabase database;
    private final @Nullable WakeUpChannel channel;
    private final InMemoryFaults faults;
    private final InMemoryLockRows locks;
    private final HolderRows permits;
    private final LockNodeRepository nodes;
    private final WaiterRows waiters;
    private final LockRunRepository runs;
    private final LockPageRepository pages;
    private final LockSearchRepository search;

    InMemoryLockStore(InMemoryDatabase database, @Nullable WakeUpChannel channel) {
        this.database = database;
        this.channel = channel;
        faults = new InMemoryFaults(database);
        InMemoryAudits audits = new InMemoryAudits(database);
        locks = new InMemoryLockRows(database, audits);
        permits = new InMemoryHolderRows(database, audits);
        nodes = new InMemoryNodeRepository(database);
        waiters = new InMemoryWaiterRows(database);
        runs = new InMemoryRunRepository(database);
        pages = new InMemoryPageRepository(database);
        search = new InMemorySearchRepository(database);
    }

    /** What goes wrong. */
    public InMemoryFaults faults() {
        return faults;
    }

    @Override
    public <T> T inTransaction(Duration atMost, Function<TransactionalLockRows, T> work) {
        return database.transaction(faults, () -> work.apply(locks));
    }

    @Override
    public <T> T inTransaction(Duration atMost, Supplier<T> work) {
        return database.transaction(faults, work);
    }

    @Override
    public LockRows autocommit(Duration atMost) {
        return eachInTransaction(LockRows.class, locks);
    }

    @Override
    public WaiterRows waiters(Duration atMost) {
        return eachInTransaction(WaiterRows.class, waiters);
    }

    private <P> P eachInTransaction(Class<P> port, P rows) {
        return port.cast(Proxy.newProxyInstance(
                port.getClassLoader(),
                new Class<?>[] {port},
                (proxy, method, arguments) -> database.transaction(faults, () -> {
                    try {
                        return method.invoke(rows, arguments);
                    } catch (InvocationTargetException thrown) {
                        throw (RuntimeException) thrown.getCause();
                    } catch (IllegalAccessException closed) {
                        throw new AssertionError(closed);
                    }
                })));
    }

    @Override
    public HolderRows permits() {
        return permits;
    }

    @Override
    public LockNodeRepository nodes() {
        return nodes;
    }

    @Override
    public LockRunRepository runs() {
        return runs;
    }

    @Override
    public LockPageRepository pages() {
        return pages;
    }

    @Override
    public LockSearchRepository search() {
        return search;
    }

    // What it does not have

    @Override
    public boolean hasRowLocks() {
        return false;
    }

    @Override
    public RowTransaction beginRowTransaction() {
        throw new UnsupportedOperationException("The double of the store has no row locks: use a database");
    }

    @Override
    public RowTransaction joinRowTransaction(CommitGuard guard) {
        throw new UnsupportedOperationException("The double of the store has no callers' transactions: use a database");
    }

    @Override
    public Optional<WakeUpChannel> wakeUpChannel(Consumer<Runnable> background) {
        return Optional.ofNullable(channel);
    }

    @Override
    public boolean canListen() {
        return channel != null;
    }

    @Override
    public LockStore cancellingOverdue(LongSupplier nanoClock) {
        return this;
    }

    @Override
    public void close() {}

    @Override
    public Optional<String> severalWriters() {
        return Optional.empty();
    }

    @Override
    public int mostGuardsOfRow() {
        return Integer.MAX_VALUE;
    }

    @Override
    public Map<DatabaseRisk, String> risks() {
        return Map.of();
    }

    @Override
    public void checkTenant() {}

    @Override
    public String database() {
        return "in memory";
    }

    @Override
    public Comparator<String> nameOrder() {
        return Comparator.naturalOrder();
    }

    @Override
    public String persistenceUnit() {
        return "";
    }

    @Override
    public boolean hasOwnConnections() {
        return false;
    }
}
