package io.github.holdfast.repository.wakeup;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.SqlErrors;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.repository.jdbc.CompiledUpdate;
import io.github.holdfast.repository.jdbc.PostgresDriver;
import io.github.holdfast.repository.jdbc.StoreTransactions;
import io.github.holdfast.repository.rows.JpaLockRows;
import io.github.holdfast.repository.rows.LockWaiterRepository;
import io.github.holdfast.repository.rows.NextWaiterQuery;
import io.github.holdfast.repository.rows.WakingRelease;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Supplier;
import org.hibernate.Session;
import org.jspecify.annotations.Nullable;
import org.springframework.core.NestedExceptionUtils;

/**
 * PostgreSQL's notification channel, through which a release wakes the waiter that is next. Each table of locks has one channel.
 * The payload is the bell of that waiter's service, and the name of the lock. The commit of the release sends the notification,
 * so the receiver finds the lock free. A notification without a receiver is lost. Thread-safe.
 */
public final class PostgresWakeUpChannel implements WakeUpChannel, WakingRelease {

    private static final Duration LIMIT = Duration.ofSeconds(5);

    private final StoreTransactions transactions;
    private final PostgresWakeUpRepository notifying;
    private final LockWaiterRepository waiters;
    private final CompiledUpdate release;
    private final String name;
    private volatile @Nullable Long bell;

    private PostgresWakeUpChannel(
            StoreTransactions transactions,
            PostgresWakeUpRepository notifying,
            LockWaiterRepository waiters,
            String name) {
        this.transactions = transactions;
        this.notifying = notifying;
        this.waiters = waiters;
        this.release = CompiledUpdate.of(transactions.factory(), PostgresWakeUpRepository.class, "releaseAndNotify");
        this.name = name;
    }

    /**
     * Returns the channel of a store.
     *
     * @param name as {@link Name} returned it
     */
    public static PostgresWakeUpChannel of(StoreTransactions transactions, LockWaiterRepository waiters, String name) {
        PostgresWakeUpRepository notifying = transactions.laterRepository(PostgresWakeUpRepository.class);
        return new PostgresWakeUpChannel(transactions, notifying, waiters, name);
    }

    /** Remembers the name of a channel. Thread-safe. */
    public static final class Name {

        private volatile @Nullable String last;

        /**
         * Reads the name. One statement. If it fails, returns the last name: a service that is opened again may not reach the database
         * yet.
         *
         * @return empty if the driver is not PostgreSQL's own
         * @throws StoreException if the database failed, and the name was never read
         */
        public Optional<String> in(StoreTransactions transactions) {
            String before = last;
            try {
                Optional<String> name = read(transactions);
                last = name.orElse(null);
                return name;
            } catch (StoreException failed) {
                if (before == null) {
                    throw failed;
                }
                return Optional.of(before);
            }
        }
    }

    private static Optional<String> read(StoreTransactions transactions) {
        try (Session session = transactions.unit().createEntityManager().unwrap(Session.class)) {
            String table = transactions.table(LockEntity.class);
            return session.doReturningWork(connection -> nameFor(table, connection));
        } catch (RuntimeException thrown) {
            throw translated(thrown, transactions);
        }
    }

    /**
     * Returns the channel's name, which contains the id of the table; empty if another driver gave the connection. The table's
     * name would not do: another schema may have a table of the same name, and search paths may differ.
     */
    private static Optional<String> nameFor(String table, Connection connection) throws SQLException {
        if (!PostgresDriver.gave(connection)) {
            return Optional.empty();
        }
        try (PreparedStatement query =
                connection.prepareStatement("select cast(cast(cast(? as text) as regclass) as oid)")) {
            query.setString(1, table);
            try (ResultSet result = query.executeQuery()) {
                result.next();
                return Optional.of("holdfast_" + result.getLong(1));
            }
        }
    }

    /** Returns the name of the channel. */
    String name() {
        return name;
    }

    @Override
    public @Nullable Long bell() {
        return bell;
    }

    @Override
    public boolean release(JpaLockRows locks, LockEntity before) {
        return locks.update(
                before,
                release,
                before.name(),
                before.version(),
                before.fencingToken(),
                before.owner(),
                NextWaiterQuery.bell(bell),
                name);
    }

    @Override
    public void wakeNext(String lockName) {
        ring(lockName, () -> waiters.next(lockName, NextWaiterQuery.bell(bell)));
    }

    @Override
    public void recall(String lockName, String nodeId) {
        ring(lockName, () -> waiters.bell(nodeId));
    }

    private void ring(String lockName, Supplier<List<@Nullable Long>> bells) {
        String unused = transactions.committed(LIMIT, () -> {
            List<@Nullable Long> found = bells.get();
            return found.isEmpty() || found.get(0) == null ? "" : notifying.send(name, found.get(0) + " " + lockName);
        });
    }

    @Override
    public void listen(Receiver receiver) {
        long own = UUID.randomUUID().getLeastSignificantBits() >>> 1;
        try (Session session = transactions.unit().createEntityManager().unwrap(Session.class)) {
            session.doWork(connection ->
                    new PostgresNotifications(connection, name, own).hear(receiver, this::probe, () -> bell = own));
        } catch (RuntimeException thrown) {
            throw translated(thrown, transactions);
        } finally {
            bell = null;
        }
    }

    /** Does nothing: the listening thread asks its receiver several times a second. */
    @Override
    public void stopListening() {}

    /** Sends a payload that cannot be a lock's name. It starts with a space, and a lock's name has no white space at its ends. */
    private String probe() {
        String probe = " " + UUID.randomUUID();
        transactions.committed(LIMIT, () -> notifying.send(name, probe));
        return probe;
    }

    private static RuntimeException translated(RuntimeException thrown, StoreTransactions transactions) {
        if (thrown instanceof StoreException || !SqlErrors.isFromDatabase(thrown)) {
            return thrown;
        }
        Failure failure = transactions.errors().ofStatement(thrown);
        return new StoreException(
                failure,
                failure.message() + " ("
                        + NestedExceptionUtils.getMostSpecificCause(thrown).getMessage() + ")",
                thrown);
    }
}
