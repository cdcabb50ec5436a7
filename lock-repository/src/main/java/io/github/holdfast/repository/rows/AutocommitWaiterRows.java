package io.github.holdfast.repository.rows;

import io.github.holdfast.repository.jdbc.AutocommitExecutor;
import io.github.holdfast.repository.jdbc.AutocommitExecutor.Statement;
import io.github.holdfast.repository.jdbc.AutocommitExecutor.Write;
import io.github.holdfast.repository.jdbc.CompiledSql;
import io.github.holdfast.repository.jdbc.CompiledUpdate;
import io.github.holdfast.repository.jdbc.StoreTransactions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.jspecify.annotations.Nullable;

/** The rows of the waiters, with each call as one statement in a transaction of its own. Thread-safe. */
public final class AutocommitWaiterRows implements WaiterRows {

    private static final int PADDING = 8;

    private final Statements statements;
    private final AutocommitExecutor executor;
    private final StoreTransactions transactions;
    private final Duration atMost;

    /**
     * Creates the rows.
     *
     * @param transactions contain the timeout of the statements
     * @param atMost how long each statement may take
     */
    public AutocommitWaiterRows(
            Statements statements, AutocommitExecutor executor, StoreTransactions transactions, Duration atMost) {
        this.statements = statements;
        this.executor = executor;
        this.transactions = transactions;
        this.atMost = atMost;
    }

    /** The statements of a store, compiled once. */
    public static final class Statements {

        private final SessionFactoryImplementor factory;
        private final CompiledUpdate add;
        private final CompiledUpdate remove;
        private final CompiledUpdate removeStray;
        private final CompiledUpdate removeAll;
        private final CompiledQuery<Long> countOtherNodes;
        private final CompiledQuery<Long> countWaitingNodes;

        /** The queries for locks that are not available, by the number of names. A new query replaces the map by a larger one. */
        private volatile Map<Integer, CompiledQuery<String>> unavailable = Map.of();

        /** Compiles the statements. */
        public Statements(SessionFactoryImplementor factory) {
            this.factory = factory;
            add = CompiledUpdate.of(factory, LockWaiterRepository.class, "add");
            remove = CompiledUpdate.of(factory, LockWaiterRepository.class, "remove");
            removeStray = CompiledUpdate.of(factory, LockWaiterRepository.class, "removeStray");
            removeAll = CompiledUpdate.of(factory, LockWaiterRepository.class, "removeAll");
            countOtherNodes = CompiledQuery.of(factory, Long.class, LockWaiterRepository.class, "countOtherNodes");
            countWaitingNodes = CompiledQuery.of(factory, Long.class, LockWaiterRepository.class, "countWaitingNodes");
        }

        private CompiledQuery<String> unavailable(int names) {
            CompiledQuery<String> known = unavailable.get(names);
            if (known != null) {
                return known;
            }
            List<Object> samples = IntStream.range(0, names)
                    .mapToObj(index -> CompiledSql.sample(String.class, index))
                    .toList();
            CompiledQuery<String> query = CompiledQuery.of(
                    factory,
                    String.class,
                    CompiledSql.method(LockWaiterRepository.class, "unavailable"),
                    List.of(samples, CompiledSql.sample(long.class, 0), CompiledSql.sample(long.class, 1)));
            Map<Integer, CompiledQuery<String>> more = new HashMap<>(unavailable);
            more.put(names, query);
            unavailable = more;
            return query;
        }
    }

    @Override
    public void add(Ticket ticket) {
        Statement<Integer> insert = with(
                statements.add,
                ticket.name(),
                ticket.since(),
                ticket.id(),
                ticket.nodeId(),
                ticket.mode().code(),
                ticket.isFair());
        int unused = executor.execute(AutocommitExecutor.unlessPresent(insert), write());
    }

    @Override
    public void remove(Ticket ticket) {
        int unused = executor.execute(with(statements.remove, ticket.name(), ticket.since(), ticket.id()), write());
    }

    @Override
    public void removeStray(String name, String id) {
        int unused = executor.execute(with(statements.removeStray, name, id), write());
    }

    @Override
    public void removeAll(String name, String nodeId) {
        int unused = executor.execute(with(statements.removeAll, name, nodeId), write());
    }

    @Override
    public List<String> available(List<String> names, Duration tolerance) {
        List<String> padded = padded(names);
        Set<String> unavailable = Set.copyOf(query(statements
                .unavailable(padded.size())
                .with(transactions.timeout(), atMost, padded, 0L, -Micros.of(tolerance))));
        return names.stream().filter(name -> !unavailable.contains(name)).toList();
    }

    /** Repeats the last name, so that few texts are in use: for 1, 8, 64 and 512 names. */
    private static List<String> padded(List<String> names) {
        int size = 1;
        while (size < names.size()) {
            size *= PADDING;
        }
        List<String> padded = new ArrayList<>(names);
        padded.addAll(Collections.nCopies(size - names.size(), names.get(names.size() - 1)));
        return padded;
    }

    @Override
    public int countOtherNodes(String name, String nodeId) {
        Long count = query(statements.countOtherNodes.with(transactions.timeout(), atMost, name, nodeId))
                .get(0);
        return Math.toIntExact(count);
    }

    /**
     * Whether another service waits for any lock. One statement.
     *
     * @param bell the bell of this service; null if it has none, and then it counts too
     */
    public boolean isAnyNodeWaiting(@Nullable Long bell) {
        return query(statements.countWaitingNodes.with(transactions.timeout(), atMost, NextWaiterQuery.bell(bell)))
                        .get(0)
                > 0;
    }

    private <T> T query(Statement<T> query) {
        return executor.execute(query, AutocommitExecutor.READ);
    }

    private Statement<Integer> with(CompiledUpdate update, @Nullable Object... arguments) {
        return update.with(transactions.timeout(), atMost, arguments);
    }

    /** A write that is harmless if it is done twice, so nothing is checked after a cancellation. */
    private Write write() {
        return new Write(connection -> false, transactions.timeout(), atMost);
    }
}
