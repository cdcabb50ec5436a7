package io.github.holdfast.repository;

import io.github.holdfast.repository.AutocommitExecutor.Statement;
import io.github.holdfast.repository.AutocommitExecutor.Write;
import io.github.holdfast.repository.LockTables.WaiterRows;
import java.time.Duration;
import org.hibernate.Session;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.jspecify.annotations.Nullable;

/** The rows of the waiters, with each call as one statement in a transaction of its own. Thread-safe. */
final class AutocommitWaiterRows implements WaiterRows {

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
    AutocommitWaiterRows(
            Statements statements, AutocommitExecutor executor, StoreTransactions transactions, Duration atMost) {
        this.statements = statements;
        this.executor = executor;
        this.transactions = transactions;
        this.atMost = atMost;
    }

    /** The statements of a store, compiled once. */
    static final class Statements {

        private final LockWaiterRepository queries;
        private final CompiledUpdate add;
        private final CompiledUpdate remove;
        private final CompiledUpdate removeAll;

        /** Compiles the statements. */
        Statements(SessionFactoryImplementor factory, LockWaiterRepository queries) {
            this.queries = queries;
            add = CompiledUpdate.of(factory, LockWaiterRepository.class, "add");
            remove = CompiledUpdate.of(factory, LockWaiterRepository.class, "remove");
            removeAll = CompiledUpdate.of(factory, LockWaiterRepository.class, "removeAll");
        }
    }

    @Override
    public void add(Ticket ticket) {
        Statement<Integer> insert =
                with(statements.add, ticket.name(), ticket.since(), ticket.id(), ticket.nodeId(), ticket.holder());
        int unused = executor.execute(AutocommitExecutor.unlessPresent(insert), write());
    }

    @Override
    public void remove(Ticket ticket) {
        int unused = executor.execute(with(statements.remove, ticket.name(), ticket.since(), ticket.id()), write());
    }

    @Override
    public void removeAll(String name, String nodeId) {
        int unused = executor.execute(with(statements.removeAll, name, nodeId), write());
    }

    @Override
    public int countOtherNodes(String name, String nodeId) {
        return executor.execute(
                connection -> {
                    try (Session session = executor.session(connection)) {
                        return transactions.within(
                                session, atMost, () -> statements.queries.countOtherNodes(name, nodeId));
                    }
                },
                AutocommitExecutor.READ);
    }

    private Statement<Integer> with(CompiledUpdate update, @Nullable Object... arguments) {
        return update.with(transactions.timeout(), atMost, arguments);
    }

    /** A write that is harmless if it is done twice, so nothing is checked after a cancellation. */
    private Write write() {
        return new Write(connection -> false, transactions.timeout(), atMost);
    }
}
