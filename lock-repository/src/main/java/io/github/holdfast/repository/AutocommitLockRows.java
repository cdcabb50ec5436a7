package io.github.holdfast.repository;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.AutocommitExecutor.Statement;
import io.github.holdfast.repository.AutocommitExecutor.Write;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.LongConsumer;
import java.util.function.ToIntFunction;
import javax.sql.DataSource;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The rows of the locks, with each call in a transaction of its own. {@link AutocommitExecutor} executes the calls on the path of
 * most acquisitions and releases, as single statements. Thread-safe.
 */
final class AutocommitLockRows implements LockRows {

    private static final Logger LOG = LoggerFactory.getLogger(AutocommitLockRows.class);

    private final Statements statements;
    private final StoreTransactions transactions;
    private final JpaLockRows locks;
    private final Duration atMost;

    /**
     * Creates the rows.
     *
     * @param transactions run the calls that need more than one statement; their timeout limits the single statements too
     * @param locks the rows in such a transaction
     * @param atMost how long each statement may take
     */
    AutocommitLockRows(Statements statements, StoreTransactions transactions, JpaLockRows locks, Duration atMost) {
        this.statements = statements;
        this.transactions = transactions;
        this.locks = locks;
        this.atMost = atMost;
    }

    /** The statements of a store, compiled once. */
    static final class Statements {

        private final AutocommitExecutor executor;
        private final NodeLocationCache nodes;
        private final CompiledUpdate grant;
        private final CompiledUpdate grantWhereNodeIs;
        private final CompiledUpdate extend;
        private final CompiledUpdate release;
        private final CompiledUpdate recount;
        private final CompiledUpdate createIfMissing;
        private final CompiledUpdate createAs;
        private final CompiledQuery<Long> countHolders;
        private final boolean areHoldersCounted;
        private final CompiledQuery<LockSnapshot> read;
        private final CompiledQuery<String> firstInQueue;

        /**
         * Compiles the statements.
         *
         * @param connections the source of their connections; null for the application's own
         */
        Statements(SessionFactoryImplementor factory, @Nullable DataSource connections) {
            executor = AutocommitExecutor.of(factory, connections);
            nodes = new NodeLocationCache(KnownDialects.of(factory));
            grant = CompiledUpdate.of(factory, LockRepository.class, "grant");
            grantWhereNodeIs = CompiledUpdate.of(factory, LockRepository.class, "grantWhereNodeIs");
            extend = CompiledUpdate.of(factory, LockRepository.class, "extend");
            release = CompiledUpdate.of(factory, LockRepository.class, "release");
            recount = CompiledUpdate.of(factory, LockRepository.class, "recount");
            createIfMissing = CompiledUpdate.generating(factory, "version", LockRepository.class, "createIfMissing");
            createAs = CompiledUpdate.generating(factory, "version", LockRepository.class, "createAs");
            countHolders = CompiledQuery.of(factory, Long.class, LockRepository.class, "countHolders");
            areHoldersCounted = KnownDialects.of(factory).locksWhatAnInsertReads();
            read = CompiledQuery.ofSnapshot(factory);
            firstInQueue = CompiledQuery.of(factory, String.class, LockRepository.class, "firstInQueue");
        }

        AutocommitExecutor executor() {
            return executor;
        }
    }

    private <T> T inTransaction(Function<JpaLockRows, T> work) {
        return transactions.committed(atMost, () -> work.apply(locks));
    }

    @Override
    public Optional<LockSnapshot> read(String name) {
        return statements.executor.execute(connection -> read(connection, name), AutocommitExecutor.READ);
    }

    private Optional<LockSnapshot> read(Connection connection, String name) throws SQLException {
        return statements.read.with(transactions.timeout(), atMost, name).on(connection).stream()
                .findFirst();
    }

    @Override
    public Optional<String> firstInQueue(String name) {
        return statements
                .executor
                .execute(statements.firstInQueue.with(transactions.timeout(), atMost, name), AutocommitExecutor.READ)
                .stream()
                .findFirst();
    }

    @Override
    public Optional<LockEntity> createIfMissing(String name) {
        long[] epoch = new long[1];
        LongConsumer key = created -> epoch[0] = created;
        Statement<Integer> insert = statements.areHoldersCounted
                ? insertAfterCount(name, key)
                : statements.createIfMissing.with(key, transactions.timeout(), atMost, name);
        int unused = statements.executor.execute(
                AutocommitExecutor.unlessPresent(insert),
                write(connection -> read(connection, name).isEmpty()));
        return epoch[0] == 0 ? Optional.empty() : Optional.of(new LockEntity(name, epoch[0]));
    }

    private Statement<Integer> insertAfterCount(String name, LongConsumer key) {
        List<Long> holders = statements.executor.execute(
                statements.countHolders.with(transactions.timeout(), atMost, name), AutocommitExecutor.READ);
        return statements.createAs.with(key, transactions.timeout(), atMost, name, holders.get(0) > 0 ? -1 : 0);
    }

    /** Grants a lock. A minimum hold may need two statements. These run in one transaction, because they belong together. */
    @Override
    public boolean grant(
            LockEntity before, LockEntity after, @Nullable Duration lease, @Nullable Duration minimumHold) {
        if (minimumHold != null) {
            return inTransaction(rows -> rows.grant(before, after, lease, minimumHold));
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
            null
        };
        Granting write = new Granting(after.nodeId(), arguments);
        boolean granted = statements.executor.execute(write, writeOf(before)) == 1;
        if (granted && JpaLockRows.hasWaitedSince(write.sentAt)) {
            restartLease(
                    after, queries -> queries.grantFromNow(after.name(), after.version(), Micros.orNull(lease), null));
        }
        return granted;
    }

    /** Grants a lock through a node, if the database of the connection contains the node's row. */
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
            try {
                boolean isNodeKnown = statements.nodes.has(nodeId, connection);
                CompiledUpdate update = isNodeKnown ? statements.grantWhereNodeIs : statements.grant;
                int granted =
                        update.with(transactions.timeout(), atMost, arguments).on(connection);
                if (!isNodeKnown && granted == 1 && nodeId != null) {
                    statements.nodes.add(nodeId, connection);
                }
                return granted;
            } catch (SQLException failed) {
                // After a failure, the same URL may lead to another server.
                statements.nodes.forget();
                throw failed;
            }
        }
    }

    /**
     * Restarts the lease of a write that waited for the row. The write is already committed. Its lease counts from before the
     * wait, and the holder relies on that lease. This update only makes the lease longer, so a failure is logged. But if the
     * update is in doubt, nobody knows how long the row keeps others out, so the failure is thrown.
     */
    private void restartLease(LockEntity written, ToIntFunction<LockRepository> fromNow) {
        try {
            inTransaction(rows -> fromNow.applyAsInt(rows.queries()));
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
                transactions.timeout(),
                atMost,
                before.name(),
                before.version(),
                before.fencingToken(),
                before.owner(),
                after.holdCount(),
                Micros.of(lease));
        long[] sentAt = new long[1];
        boolean extended = statements.executor.execute(
                        connection -> {
                            sentAt[0] = System.nanoTime();
                            return extend.on(connection);
                        },
                        writeOf(before))
                == 1;
        if (extended && JpaLockRows.hasWaitedSince(sentAt[0])) {
            restartLease(after, queries -> queries.extendFromNow(after.name(), after.version(), Micros.of(lease)));
        }
        return extended;
    }

    @Override
    public boolean release(LockEntity before, LockEntity after) {
        return after.owner() == null
                ? update(
                                statements.release,
                                before,
                                before.name(),
                                before.version(),
                                before.fencingToken(),
                                before.owner())
                        == 1
                : recount(before, after);
    }

    @Override
    public boolean recount(LockEntity before, LockEntity after) {
        Objects.requireNonNull(after.owner(), "a recount does not free the lock");
        return update(
                        statements.recount,
                        before,
                        before.name(),
                        before.version(),
                        before.fencingToken(),
                        before.owner(),
                        after.holdCount())
                == 1;
    }

    @Override
    public boolean supersede(String name, long version) {
        return inTransaction(rows -> rows.supersede(name, version));
    }

    /**
     * Executes an update of a lock's row.
     *
     * @param before the row as last read; the update expects it to be unchanged
     * @param arguments the arguments of the query
     * @return how many rows the update changed
     */
    int update(CompiledUpdate update, LockEntity before, @Nullable Object... arguments) {
        return statements.executor.execute(update.with(transactions.timeout(), atMost, arguments), writeOf(before));
    }

    /**
     * Does the same as {@link #update}, and asks for the key that the update generates.
     *
     * @return the key; 0 if there is none, and -1 if the update changed no row
     */
    long updateForKey(CompiledUpdate update, LockEntity before, @Nullable Object... arguments) {
        long[] key = new long[1];
        Statement<Integer> statement = update.with(found -> key[0] = found, transactions.timeout(), atMost, arguments);
        return statements.executor.execute(statement, writeOf(before)) == 1 ? key[0] : -1;
    }

    private Write writeOf(LockEntity before) {
        return write(connection -> read(connection, before.name())
                .filter(seen -> seen.row().version() == before.version())
                .isPresent());
    }

    private Write write(Statement<Boolean> isAsBefore) {
        return new Write(isAsBefore, transactions.timeout(), atMost);
    }
}
