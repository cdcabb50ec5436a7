package io.github.holdfast.repository;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.AutocommitExecutor.Statement;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.function.LongConsumer;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The rows of the locks, by the compiled queries of {@link LockRepository}. A {@link LockExecutor} executes them, each in a
 * transaction of its own or all in the current one. Thread-safe.
 */
class JpaLockRows implements LockRows {

    private static final Logger LOG = LoggerFactory.getLogger(JpaLockRows.class);

    private final LockStatements statements;
    private final LockRepository queries;
    private final LockExecutor executor;
    private final @Nullable WakingRelease waking;

    /**
     * Creates the rows.
     *
     * @param queries the queries that are seldom executed, in the current transaction
     * @param waking writes the releases that wake a waiter; null if the database wakes none
     */
    JpaLockRows(
            LockStatements statements, LockRepository queries, LockExecutor executor, @Nullable WakingRelease waking) {
        this.statements = statements;
        this.queries = queries;
        this.executor = executor;
        this.waking = waking;
    }

    @Override
    public Optional<LockSnapshot> read(String name) {
        return executor.read(connection -> read(connection, name));
    }

    private Optional<LockSnapshot> read(Connection connection, String name) throws SQLException {
        return executor.limited(statements.read, name).on(connection).stream().findFirst();
    }

    @Override
    public Optional<String> firstInQueue(String name) {
        return executor.read(executor.limited(statements.firstInQueue, name)).stream()
                .findFirst();
    }

    @Override
    public Optional<LockEntity> createIfMissing(String name) {
        long[] epoch = new long[1];
        LongConsumer key = created -> epoch[0] = created;
        Statement<Integer> insert = statements.areHoldersCounted
                ? insertAfterCount(name, key)
                : executor.limited(key, statements.createIfMissing, name);
        int unused = executor.write(
                AutocommitExecutor.unlessPresent(insert),
                connection -> read(connection, name).isEmpty());
        return epoch[0] == 0 ? Optional.empty() : Optional.of(new LockEntity(name, epoch[0]));
    }

    private Statement<Integer> insertAfterCount(String name, LongConsumer key) {
        Long holders =
                executor.read(executor.limited(statements.countHolders, name)).get(0);
        return executor.limited(key, statements.createAs, name, holders > 0 ? -1 : 0);
    }

    /** A minimum hold may need two statements. These run in one transaction, because they belong together. */
    @Override
    public boolean grant(
            LockEntity before, LockEntity after, @Nullable Duration lease, @Nullable Duration minimumHold) {
        return minimumHold == null
                ? grant(executor, before, after, lease, null)
                : executor.together(transaction -> grant(transaction, before, after, lease, minimumHold));
    }

    private boolean grant(
            LockExecutor by,
            LockEntity before,
            LockEntity after,
            @Nullable Duration lease,
            @Nullable Duration minimumHold) {
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
            Micros.orNull(minimumHold)
        };
        Granting write = new Granting(by, after.nodeId(), arguments);
        boolean granted = by.write(write, isLike(before)) == 1;
        if (granted && hasWaitedSince(write.sentAt)) {
            restartLease(
                    by,
                    after,
                    current -> current.grantFromNow(
                            after.name(), after.version(), Micros.orNull(lease), Micros.orNull(minimumHold)));
        }
        return granted;
    }

    /** Grants a lock through a node, if the database of the connection contains the node's row. */
    private final class Granting implements Statement<Integer> {

        private final LockExecutor by;
        private final @Nullable String nodeId;
        private final @Nullable Object[] arguments;

        /** When the last execution began, by the local clock: after the wait for a connection. */
        private long sentAt;

        Granting(LockExecutor by, @Nullable String nodeId, @Nullable Object[] arguments) {
            this.by = by;
            this.nodeId = nodeId;
            this.arguments = arguments;
        }

        @Override
        public Integer on(Connection connection) throws SQLException {
            sentAt = System.nanoTime();
            try {
                boolean isNodeKnown = by.nodes().has(nodeId, connection);
                CompiledUpdate update = isNodeKnown ? statements.grantWhereNodeIs : statements.grant;
                int granted = by.limited(update, arguments).on(connection);
                if (!isNodeKnown && granted == 1 && nodeId != null) {
                    by.nodes().add(nodeId, connection);
                }
                return granted;
            } catch (SQLException failed) {
                // After a failure, the same URL may lead to another server.
                by.nodes().forget();
                throw failed;
            }
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
    private void restartLease(LockExecutor by, LockEntity written, ToIntFunction<LockRepository> fromNow) {
        try {
            int unused = by.together(transaction -> fromNow.applyAsInt(queries));
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
        Statement<Integer> extend = executor.limited(
                statements.extend,
                before.name(),
                before.version(),
                before.fencingToken(),
                before.owner(),
                after.holdCount(),
                Micros.of(lease));
        long[] sentAt = new long[1];
        boolean extended = executor.write(
                        connection -> {
                            sentAt[0] = System.nanoTime();
                            return extend.on(connection);
                        },
                        isLike(before))
                == 1;
        if (extended && hasWaitedSince(sentAt[0])) {
            restartLease(
                    executor, after, current -> current.extendFromNow(after.name(), after.version(), Micros.of(lease)));
        }
        return extended;
    }

    @Override
    public boolean release(LockEntity before, LockEntity after) {
        return after.owner() == null
                ? update(
                        before,
                        statements.release,
                        before.name(),
                        before.version(),
                        before.fencingToken(),
                        before.owner())
                : recount(before, after);
    }

    @Override
    public boolean releaseAndWake(LockEntity before, LockEntity after) {
        return (waking != null && after.owner() == null)
                ? waking.release(executor, before, isLike(before))
                : release(before, after);
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
        return executor.together(transaction -> queries.supersede(name, version)) == 1;
    }

    /** Executes an update of a row, which expects the row to be as it was last read. */
    private boolean update(LockEntity before, CompiledUpdate update, @Nullable Object... arguments) {
        return executor.write(executor.limited(update, arguments), isLike(before)) == 1;
    }

    private Statement<Boolean> isLike(LockEntity before) {
        return connection -> read(connection, before.name())
                .filter(seen -> seen.row().version() == before.version())
                .isPresent();
    }
}
