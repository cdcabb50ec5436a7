package io.github.holdfast.repository;

import io.github.holdfast.repository.AutocommitExecutor.Statement;
import io.github.holdfast.repository.AutocommitExecutor.Write;
import java.time.Duration;
import java.util.List;
import java.util.function.Function;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/** Executes the statements of {@link JpaLockRows}: each in a transaction of its own, or all in the current transaction. Thread-safe. */
abstract class LockExecutor {

    final StoreTransactions transactions;
    final Duration atMost;
    private final NodeLocationCache nodes;

    /**
     * Creates an executor.
     *
     * @param transactions contain the timeout of the statements
     * @param atMost how long each statement may take
     * @param nodes the nodes whose rows are known to be where a grant is written
     */
    private LockExecutor(StoreTransactions transactions, Duration atMost, NodeLocationCache nodes) {
        this.transactions = transactions;
        this.atMost = atMost;
        this.nodes = nodes;
    }

    /** Returns an executor of single statements. Each is a transaction of its own. */
    static LockExecutor autocommit(LockStatements statements, StoreTransactions transactions, Duration atMost) {
        return new Autocommit(statements, transactions, atMost);
    }

    /** Returns an executor that uses the connection of the calling thread's transaction. */
    static LockExecutor inTransaction(StoreTransactions transactions, Duration atMost) {
        return new InTransaction(transactions, atMost);
    }

    /** Returns the nodes whose rows are known to be where a grant is written, so that the grant need not check them. */
    NodeLocationCache nodes() {
        return nodes;
    }

    abstract <T> T read(Statement<T> query);

    /**
     * Executes a write.
     *
     * @param isAsBefore checks that nothing was written; executed on the same connection if the driver has cancelled the write
     * @return how many rows it changed
     */
    abstract int write(Statement<Integer> write, Statement<Boolean> isAsBefore);

    /** Runs work whose statements must be committed together. */
    abstract <T> T together(Function<LockExecutor, T> work);

    /** Runs work when the writes until now are committed. */
    abstract void afterCommit(Runnable work);

    /** Returns a query with its arguments, whose execution has the time limit of this executor. */
    <T> Statement<List<@Nullable T>> limited(CompiledQuery<T> query, Object... arguments) {
        return query.with(transactions.timeout(), atMost, arguments);
    }

    /** Does the same as {@link #limited(CompiledQuery, Object...)}, for an update. */
    Statement<Integer> limited(CompiledUpdate update, @Nullable Object... arguments) {
        return update.with(transactions.timeout(), atMost, arguments);
    }

    /** Does the same as {@link #limited(CompiledUpdate, Object...)}, for an update that generates a key. */
    Statement<Integer> limited(LongConsumer key, CompiledUpdate update, @Nullable Object... arguments) {
        return update.with(key, transactions.timeout(), atMost, arguments);
    }

    private static final class Autocommit extends LockExecutor {

        private final AutocommitExecutor executor;

        Autocommit(LockStatements statements, StoreTransactions transactions, Duration atMost) {
            super(transactions, atMost, statements.nodes());
            this.executor = statements.executor();
        }

        @Override
        <T> T read(Statement<T> query) {
            return executor.execute(query, AutocommitExecutor.READ);
        }

        @Override
        int write(Statement<Integer> write, Statement<Boolean> isAsBefore) {
            return executor.execute(write, new Write(isAsBefore, transactions.timeout(), atMost));
        }

        @Override
        <T> T together(Function<LockExecutor, T> work) {
            return transactions.committed(atMost, () -> work.apply(inTransaction(transactions, atMost)));
        }

        @Override
        void afterCommit(Runnable work) {
            work.run();
        }
    }

    private static final class InTransaction extends LockExecutor {

        InTransaction(StoreTransactions transactions, Duration atMost) {
            super(transactions, atMost, NodeLocationCache.NONE);
        }

        @Override
        <T> T read(Statement<T> query) {
            return transactions.inCurrent(query);
        }

        @Override
        int write(Statement<Integer> write, Statement<Boolean> isAsBefore) {
            return transactions.inCurrent(write);
        }

        @Override
        <T> T together(Function<LockExecutor, T> work) {
            return work.apply(this);
        }

        @Override
        void afterCommit(Runnable work) {
            TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                @Override
                public void afterCommit() {
                    work.run();
                }
            });
        }
    }
}
