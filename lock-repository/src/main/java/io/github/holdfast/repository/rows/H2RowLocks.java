package io.github.holdfast.repository.rows;

import io.github.holdfast.repository.H2LockDialect;
import io.github.holdfast.repository.HibernateSessions;
import io.github.holdfast.repository.jdbc.AutocommitExecutor;
import io.github.holdfast.repository.jdbc.CompiledSql;
import io.github.holdfast.repository.jdbc.StatementTimeout;
import io.github.holdfast.repository.jdbc.StoreTransactions;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.time.Duration;
import java.util.List;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Locks rows of locks on H2 with Hibernate 6, in a statement before Hibernate's own. That one is {@code for update} whatever it is asked
 * for: the dialect knows neither {@code skip locked} nor {@code wait}. Afterwards it finds the row locked by its own transaction.
 * Thread-safe.
 */
public final class H2RowLocks {

    private final StoreTransactions transactions;
    private final UnaryOperator<String> inspector;
    private final String query;

    private H2RowLocks(StoreTransactions transactions) {
        this.transactions = transactions;
        inspector = AutocommitExecutor.inspector(transactions.factory());
        query = CompiledSql.of(
                        transactions.factory(),
                        "select l.name from HoldfastLock l where l.name = :name",
                        CompiledSql.method(LockRepository.class, "findForUpdate"),
                        List.of("a lock"))
                .text();
    }

    /** Returns what locks rows before Hibernate does; null if Hibernate's own statements are enough. */
    public static @Nullable H2RowLocks ifNeeded(StoreTransactions transactions) {
        return HibernateSessions.isHibernate6() && transactions.dialect() instanceof H2LockDialect
                ? new H2RowLocks(transactions)
                : null;
    }

    /**
     * Locks a row in the current transaction, and waits for other transactions.
     *
     * @param atMost how long to wait, rounded up to whole seconds
     * @return false if the lock has no row
     */
    boolean await(String name, Duration atMost) {
        return lock(name, " for update wait " + StatementTimeout.seconds(atMost));
    }

    /**
     * Locks a row in the current transaction, unless another transaction has it locked.
     *
     * @return false if it has, or if the lock has no row
     */
    boolean lockIfFree(String name) {
        return lock(name, " for update skip locked");
    }

    private boolean lock(String name, String clause) {
        return transactions.execute(
                connection -> {
                    try (PreparedStatement statement = connection.prepareStatement(inspector.apply(query + clause))) {
                        statement.setString(1, name);
                        try (ResultSet row = statement.executeQuery()) {
                            return row.next();
                        }
                    }
                },
                AutocommitExecutor.READ);
    }
}
