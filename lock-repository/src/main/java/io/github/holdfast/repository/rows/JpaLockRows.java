package io.github.holdfast.repository.rows;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.SqlErrors;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.jdbc.AutocommitExecutor;
import io.github.holdfast.repository.jdbc.AutocommitExecutor.Statement;
import io.github.holdfast.repository.jdbc.AutocommitExecutor.Write;
import io.github.holdfast.repository.jdbc.CompiledUpdate;
import io.github.holdfast.repository.jdbc.StatementExecutor;
import io.github.holdfast.repository.jdbc.StatementTimeout;
import io.github.holdfast.repository.jdbc.StoreTransactions;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.LongConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * The rows of the locks, by the compiled queries of {@link LockRepository}. A {@link StatementExecutor} executes them, each in a
 * transaction of its own or all in the current one. Thread-safe.
 */
public sealed class JpaLockRows implements LockRows permits JpaTransactionalLockRows {

    private static final Logger LOG = LoggerFactory.getLogger(JpaLockRows.class);

    private final LockStatements statements;
    private final LockRepository queries;
    private final StoreTransactions transactions;
    private final StatementExecutor executor;
    private final NodeLocationCache nodes;
    private final StatementTimeout timeout;
    private final Duration atMost;
    private final @Nullable WakingRelease waking;

    /** Returns the rows in a transaction, for what needs more than one statement; null if these are in the current transaction. */
    private final @Nullable Function<Duration, ? extends JpaLockRows> transactional;

    /**
     * Creates the rows.
     *
     * @param queries the queries that are seldom executed, in the current transaction
     * @param transactions the transactions of the store, whose timeout limits each statement
     * @param atMost how long each statement may take
     * @param waking writes the releases that wake a waiter; null if the database wakes none
     * @param transactional returns the rows in the current transaction; null if these rows are in the current transaction, and not
     *     each statement in a transaction of its own
     */
    public JpaLockRows(
            LockStatements statements,
            LockRepository queries,
            StoreTransactions transactions,
            Duration atMost,
            @Nullable WakingRelease waking,
            @Nullable Function<Duration, ? extends JpaLockRows> transactional) {
        this.statements = statements;
        this.queries = queries;
        this.transactions = transactions;
        this.executor = transactional == null ? transactions : statements.executor();
        this.nodes = transactional == null ? NodeLocationCache.NONE : statements.nodes();
        this.timeout = transactional == null ? transactions.driversTimeout() : transactions.timeout();
        this.atMost = atMost;
        this.waking = waking;
        this.transactional = transactional;
    }

    /** Returns the queries that are seldom executed, in the current transaction. */
    public LockRepository queries() {
        return queries;
    }

    /** Runs work whose statements must be committed together. */
    private <T> T together(Supplier<T> work) {
        return transactional == null ? work.get() : transactions.committed(atMost, work);
    }

    @Override
    public Optional<LockSnapshot> read(String name) {
        return executor.execute(connection -> read(connection, name), AutocommitExecutor.READ);
    }

    private Optional<LockSnapshot> read(Connection connection, String name) throws SQLException {
        return statements.read.with(timeout, atMost, name).on(connection).stream()
                .findFirst();
    }

    @Override
    public Optional<String> firstInQueue(String name) {
        return executor.execute(statements.firstInQueue.with(timeout, atMost, name), AutocommitExecutor.READ).stream()
                .findFirst();
    }

    @Override
    public Optional<LockEntity> createIfMissing(String name) {
        long[] epoch = new long[1];
        LongConsumer key = created -> epoch[0] = created;
        Statement<Integer> insert = statements.areHoldersCounted
                ? insertAfterCount(name, key)
                : statements.createIfMissing.with(key, timeout, atMost, name);
        int unused = executor.execute(
                AutocommitExecutor.unlessPresent(insert),
                write(connection -> read(connection, name).isEmpty()));
        return epoch[0] == 0 ? Optional.empty() : Optional.of(new LockEntity(name, epoch[0]));
    }

    private Statement<Integer> insertAfterCount(String name, LongConsumer key) {
        Long holders = executor.execute(statements.countHolders.with(timeout, atMost, name), AutocommitExecutor.READ)
                .get(0);
        return statements.createAs.with(key, timeout, atMost, name, holders > 0 ? -1 : 0);
    }

    /** A minimum hold may need two statements. These run in one transaction, because they belong together. */
    @Override
    public boolean grant(
            LockEntity before, LockEntity after, @Nullable Duration lease, @Nullable Duration minimumHold) {
        if (minimumHold != null && transactional != null) {
            return together(() -> transactional.apply(atMost).grant(before, after, lease, minimumHold));
        }
        Object[] arguments = {
            before.name(),
            before.version(),
            before.fencingToken(),
            before.owner(),
            after.owner(),
            after.nodeId(),
            after.holder(),
            after.fencingToken(),
            Micros.orNull(lease),
            Micros.orNull(minimumHold),
            null // the table
        };
        Granting write = new Granting(after.nodeId(), arguments);
        boolean granted = executor.execute(write, writeOf(before)) == 1;
        if (granted && hasWaitedSince(write.sentAt)) {
            restartLease(
                    after,
                    () -> queries.grantFromNow(
                            after.name(), after.version(), Micros.orNull(lease), Micros.orNull(minimumHold)));
        }
        return granted;
    }

    /** Grants a lock; through a node only if the database of the connection contains the node's row. */
    private final class Granting implements Statement<Integer> {

        private final @Nullable String nodeId;
        private final @Nullable Object[] arguments;

        /** When the last execution began, by the local clock: after the wait for a connection. */
        private long sentAt;

        Granting(@Nullable String nodeId, @Nullable Object[] arguments) {
            this.nodeId = nodeId;
            this.arguments = arguments;
        }

        @Override
        public Integer on(Connection connection) throws SQLException {
            sentAt = System.nanoTime();
            if (nodeId == null) {
                return statements
                        .grantWhereNodeIs
                        .with(timeout, atMost, arguments)
                        .on(connection);
            }
            try {
                Long table = nodes.table(nodeId, connection);
                return table == null ? checked(nodeId, connection) : inPlace(nodeId, table, connection);
            } catch (SQLException failed) {
                // After a failure, the same URL may lead to another server.
                nodes.forget();
                throw failed;
            }
        }

        private int checked(String node, Connection connection) throws SQLException {
            if (!nodes.areRemembered()) {
                return statements.grant.with(timeout, atMost, arguments).on(connection);
            }
            long[] table = {NodeLocationCache.BY_CONNECTION};
            int granted;
            try {
                granted = statements
                        .grantAndLocate
                        .with(id -> table[0] = id, timeout, atMost, arguments)
                        .on(connection);
            } catch (SQLException failed) {
                if (!nodes.areTablesCompared() || !SqlErrors.isColumnMissing(failed)) {
                    throw failed;
                }
                nodes.stop();
                if (!connection.getAutoCommit()) {
                    connection.rollback();
                }
                return statements.grant.with(timeout, atMost, arguments).on(connection);
            }
            if (granted == 1) {
                nodes.add(node, connection, table[0]);
            }
            return granted;
        }

        private int inPlace(String node, long table, Connection connection) throws SQLException {
            arguments[arguments.length - 1] = table;
            int granted =
                    statements.grantInPlace.with(timeout, atMost, arguments).on(connection);
            if (granted == 0 && nodes.areTablesCompared()) {
                // Another owner was faster, or the connection is in another schema. The next grant finds out.
                nodes.forget(node, connection);
            }
            return granted;
        }
    }

    /**
     * Whether a write took so long that it has probably waited for the row. Its time may then be from before the wait. PostgreSQL
     * computes the new row before the wait, and again only if the other transaction changed the row. H2's clock is the start of
     * the statement. On MySQL and MariaDB, the same holds for a statement that is a transaction by itself.
     */
    private static boolean hasWaitedSince(long start) {
        return System.nanoTime() - start > Duration.ofSeconds(1).toNanos();
    }

    /**
     * Restarts the lease of a write that waited for the row. If the write is already committed, its lease counts from before the
     * wait, and the holder relies on that lease. This update only makes the lease longer, so a failure is logged. But if the
     * update is in doubt, it is unknown how long the row keeps others out, so the failure is thrown.
     */
    private void restartLease(LockEntity written, Supplier<Integer> fromNow) {
        try {
            int unused = together(fromNow);
        } catch (StoreException failed) {
            if (failed.failure().isAmbiguous()) {
                throw failed;
            }
            LOG.debug(
                    "Could not restart the lease of lock '{}': it still runs from before the write waited for the row",
                    written.name(),
                    failed);
        }
    }

    @Override
    public boolean extend(LockEntity before, LockEntity after, Duration lease) {
        Statement<Integer> extend = statements.extend.with(
                timeout,
                atMost,
                before.name(),
                before.version(),
                before.fencingToken(),
                before.owner(),
                after.holdCount(),
                Micros.of(lease));
        long[] sentAt = new long[1];
        boolean extended = executor.execute(
                        connection -> {
                            sentAt[0] = System.nanoTime();
                            return extend.on(connection);
                        },
                        writeOf(before))
                == 1;
        if (extended && hasWaitedSince(sentAt[0])) {
            restartLease(after, () -> queries.extendFromNow(after.name(), after.version(), Micros.of(lease)));
        }
        return extended;
    }

    @Override
    public boolean release(LockEntity before, LockEntity after) {
        return after.owner() == null ? releaseUnasked(before) : recount(before, after);
    }

    /** Releases the last hold, without asking which waiter is next. */
    public boolean releaseUnasked(LockEntity before) {
        return update(
                before, statements.release, before.name(), before.version(), before.fencingToken(), before.owner());
    }

    @Override
    public boolean releaseAndWake(LockEntity before, LockEntity after) {
        if (after.owner() != null) {
            return recount(before, after);
        }
        return waking == null ? releaseUnasked(before) : waking.release(this, before);
    }

    @Override
    public boolean recount(LockEntity before, LockEntity after) {
        Objects.requireNonNull(after.owner(), "a recount does not free the lock");
        return update(
                before,
                statements.recount,
                before.name(),
                before.version(),
                before.fencingToken(),
                before.owner(),
                after.holdCount());
    }

    @Override
    public boolean supersede(String name, long version) {
        return together(() -> queries.supersede(name, version)) == 1;
    }

    /**
     * Executes an update of a lock's row.
     *
     * @param before the row as last read; the update expects it to be unchanged
     * @param arguments the arguments of the query
     * @return whether it changed the row
     */
    public boolean update(LockEntity before, CompiledUpdate update, @Nullable Object... arguments) {
        return executor.execute(update.with(timeout, atMost, arguments), writeOf(before)) == 1;
    }

    /** Does the same as {@link #update}, and passes on the key that the update generates. */
    public boolean updateForKey(
            LockEntity before, LongConsumer key, CompiledUpdate update, @Nullable Object... arguments) {
        return executor.execute(update.with(key, timeout, atMost, arguments), writeOf(before)) == 1;
    }

    /** Runs work when the writes until now are committed. */
    public void afterCommit(Runnable work) {
        if (transactional != null) {
            work.run();
            return;
        }
        TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
            @Override
            public void afterCommit() {
                work.run();
            }
        });
    }

    private Write writeOf(LockEntity before) {
        return write(connection -> read(connection, before.name())
                .filter(seen -> seen.row().version() == before.version())
                .isPresent());
    }

    private Write write(Statement<Boolean> isAsBefore) {
        return new Write(isAsBefore, timeout, atMost);
    }
}
