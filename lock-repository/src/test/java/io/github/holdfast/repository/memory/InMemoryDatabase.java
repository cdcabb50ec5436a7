package io.github.holdfast.repository.memory;

import io.github.holdfast.entity.LockAudit;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockHolder;
import io.github.holdfast.entity.LockNode;
import io.github.holdfast.entity.LockRun;
import io.github.holdfast.repository.H2LockDialect;
import io.github.holdfast.repository.RowGuard;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.repository.rows.LockSnapshot;
import io.github.holdfast.repository.rows.Micros;
import io.github.holdfast.repository.rows.WaiterRows.Ticket;
import io.github.holdfast.repository.store.CommitGuard;
import io.github.holdfast.repository.store.TestTables;
import io.github.holdfast.repository.wakeup.WakeUpChannel;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.hibernate.SessionFactory;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A double of a database: the tables as maps, transactions that follow one another, and a clock that a test sets. It has no row locks,
 * so a transaction excludes all others. Several stores may share it, as services of several processes do. Thread-safe.
 */
public final class InMemoryDatabase {

    private static final Logger LOG = LoggerFactory.getLogger(InMemoryDatabase.class);

    private final InstantSource clock;
    private final ReentrantLock turn = new ReentrantLock();

    /** The transactions of the thread whose turn it is, the innermost one first. */
    private final Deque<Transaction> open = new ArrayDeque<>();

    private long statements;

    /** The services that listen, by their bells. */
    final Map<Long, WakeUpChannel.Receiver> listeners = new ConcurrentHashMap<>();

    final InMemoryTable<LockEntity> locks = table(row -> RowKey.of(row.name()));
    final InMemoryTable<LockNode> nodes = table(row -> RowKey.of(row.id()));
    final InMemoryTable<LockHolder> holders = table(row -> RowKey.of(row.name(), row.fencingToken()));
    final InMemoryTable<LockRun> runs = table(row -> RowKey.of(row.name(), row.fencingToken()));
    final InMemoryTable<LockAudit> audits = table(row -> RowKey.of(row.id()));
    final InMemoryTable<Ticket> waiters = table(row -> new RowKey(row.name(), row.since(), row.id()));

    /**
     * Creates an empty database.
     *
     * @param clock the database's clock, to which each statement adds a microsecond: no two statements run at the same time
     */
    public InMemoryDatabase(InstantSource clock) {
        this.clock = clock;
    }

    private <R> InMemoryTable<R> table(Function<R, RowKey> key) {
        return new InMemoryTable<>(key, change -> current().undo.push(change));
    }

    /** Opens a store, whose faults concern it alone. */
    public InMemoryLockStore store() {
        return new InMemoryLockStore(this, null);
    }

    /** Opens a store whose service can be asked for locks that it keeps. */
    public InMemoryLockStore listeningStore() {
        return new InMemoryLockStore(this, new InMemoryWakeUpChannel(this));
    }

    /** Opens the tables to a test. */
    public TestTables tables() {
        return new InMemoryTables(this);
    }

    /** Returns a persistence unit and its provider's factory, of which nothing works. */
    public static SessionFactory noUnit() {
        return (SessionFactory) Proxy.newProxyInstance(
                SessionFactory.class.getClassLoader(),
                new Class<?>[] {SessionFactory.class},
                (proxy, method, arguments) -> {
                    throw new UnsupportedOperationException("The double of the store has no persistence unit");
                });
    }

    /** Returns the guard of a service without a transaction manager. */
    public static CommitGuard noGuard() {
        return new CommitGuard(noUnit(), null, null, new H2LockDialect(), RowGuard.LOCKS_ALL);
    }

    private static final class Transaction {
        private final Deque<Runnable> undo = new ArrayDeque<>();
        private final List<String> names = new ArrayList<>();
        private final List<Write> writes = new ArrayList<>();
    }

    /** A statement that has written, or has found nothing to write. */
    record Write(Function<Instant, ?> statement, boolean hasWritten) {}

    private Transaction current() {
        if (!turn.isHeldByCurrentThread() || open.isEmpty()) {
            throw new IllegalStateException("No transaction of this store is open on this thread");
        }
        return open.element();
    }

    /**
     * Runs the work in a transaction of its own, even inside of another one.
     *
     * @param faults decide what becomes of it; null if nothing goes wrong
     */
    <T> T transaction(@Nullable InMemoryFaults faults, Supplier<T> work) {
        if (faults != null) {
            faults.beforeBegin();
        }
        awaitTurn();
        Transaction transaction = new Transaction();
        open.push(transaction);
        boolean takesEffect = false;
        try {
            T result = work.get();
            InMemoryFaults.End end = faults == null
                    ? new InMemoryFaults.End(null, true)
                    : faults.end(transaction.names, List.copyOf(transaction.writes));
            takesEffect = end.takesEffect();
            if (end.thrown() != null) {
                throw end.thrown();
            }
            return result;
        } finally {
            if (!takesEffect) {
                transaction.undo.forEach(Runnable::run);
            }
            open.pop();
            turn.unlock();
        }
    }

    private void awaitTurn() {
        try {
            if (!turn.tryLock(10, TimeUnit.SECONDS)) {
                throw StoreException.of(Failure.BUSY, new IllegalStateException("Another transaction lasts too long"));
            }
        } catch (InterruptedException interrupted) {
            // As a pool does, which gives no connection to an interrupted thread.
            Thread.currentThread().interrupt();
            throw StoreException.of(Failure.UNAVAILABLE, interrupted);
        }
    }

    /** Executes a statement that reads. It gets the time of the statement. */
    <T> T read(Function<Instant, T> statement) {
        Transaction unused = current();
        statements++;
        return statement.apply(clock.instant().truncatedTo(ChronoUnit.MICROS).plus(statements, ChronoUnit.MICROS));
    }

    /** Executes a statement that writes. */
    <T> T write(String name, Function<Instant, T> statement) {
        Transaction transaction = current();
        T result = read(statement);
        transaction.names.add(name);
        transaction.writes.add(new Write(statement, isEffective(result)));
        return result;
    }

    private static boolean isEffective(Object result) {
        return result instanceof Integer count
                ? count > 0
                : result instanceof Optional<?> written ? written.isPresent() : Boolean.TRUE.equals(result);
    }

    /** Executes the writes of a transaction late, all of them or none: they were decided on the rows of before. */
    void arrive(List<Write> writes) {
        try {
            transaction(null, () -> {
                for (Write write : writes) {
                    if (isEffective(read(write.statement())) != write.hasWritten()) {
                        throw StoreException.overtaken();
                    }
                }
                return true;
            });
        } catch (StoreException overtaken) {
            LOG.debug("A late transaction has no effect", overtaken);
        }
    }

    // What several statements read

    @Nullable
    LockNode node(@Nullable String id) {
        return id == null ? null : nodes.find(RowKey.of(id)).orElse(null);
    }

    /** Whether a grant through this node may be written; true without a node. */
    boolean livesIfAny(@Nullable String nodeId) {
        LockNode node = node(nodeId);
        return nodeId == null || (node != null && !node.isEnded());
    }

    LockSnapshot snapshot(LockEntity row, Instant now) {
        return new LockSnapshot(row, node(row.nodeId()), now);
    }

    /** Returns the waiters that count, in the order of the queues. */
    Stream<Ticket> waiting(Predicate<String> name, Instant now) {
        return waiters.where(ticket -> name.test(ticket.name()) && waits(node(ticket.nodeId()), now));
    }

    private static boolean waits(@Nullable LockNode node, Instant now) {
        return node != null
                && !node.isEnded()
                && node.waitsUntil() != null
                && node.waitsUntil().isAfter(now);
    }

    /** Whether a holder has what was granted: it is not dead, and lost nothing by force. */
    boolean hasGrant(LockHolder holder, Instant now) {
        LockNode node = node(holder.nodeId());
        boolean isByLease = holder.nodeId() == null
                && holder.expiresAt() != null
                && holder.expiresAt().isAfter(now);
        return !holder.isForced() && (isByLease || (node != null && !node.isEnded()));
    }

    static @Nullable Instant plus(Instant now, @Nullable Duration duration) {
        return duration == null ? null : now.plus(Micros.of(duration), ChronoUnit.MICROS);
    }
}
