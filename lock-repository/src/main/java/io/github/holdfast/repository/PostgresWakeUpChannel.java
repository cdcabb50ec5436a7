package io.github.holdfast.repository;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockTables.LockRows;
import io.github.holdfast.repository.StoreException.Failure;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.UUID;
import org.hibernate.Session;
import org.hibernate.dialect.PostgreSQLDialect;
import org.springframework.core.NestedExceptionUtils;

/**
 * PostgreSQL's notification channel, through which a release wakes the waiters on other nodes. Each table of locks has one
 * channel. The payload is the name of the lock. The commit of the release sends the notification, so the receiver finds the lock
 * free. A notification without a receiver is lost. Thread-safe.
 */
final class PostgresWakeUpChannel implements LockStore.WakeUpChannel {

    private static final Duration PROBE_LIMIT = Duration.ofSeconds(5);

    private final StoreTransactions transactions;
    private final LockWakeUpRepository notifying;
    private final CompiledUpdate release;
    private final String name;

    private PostgresWakeUpChannel(StoreTransactions transactions, LockWakeUpRepository notifying, String name) {
        this.transactions = transactions;
        this.notifying = notifying;
        this.release = CompiledUpdate.of(transactions.factory(), LockWakeUpRepository.class, "release");
        this.name = name;
    }

    /**
     * Returns the channel of a store.
     *
     * @throws IllegalStateException if the database is not PostgreSQL, or its driver is not PostgreSQL's own
     * @throws StoreException if the database failed
     */
    static PostgresWakeUpChannel of(StoreTransactions transactions) {
        if (!(transactions.dialect() instanceof PostgreSQLDialect)) {
            throw refused("the persistence unit uses another database");
        }
        LockWakeUpRepository notifying = transactions.repository(LockWakeUpRepository.class);
        MetamodelCache.clear();
        try (Session session = transactions.unit().createEntityManager().unwrap(Session.class)) {
            String table = transactions
                    .factory()
                    .getMappingMetamodel()
                    .getEntityDescriptor(LockEntity.class)
                    .getMappedTableDetails()
                    .getTableName();
            return new PostgresWakeUpChannel(
                    transactions, notifying, session.doReturningWork(connection -> nameFor(table, connection)));
        } catch (RuntimeException thrown) {
            throw translated(thrown);
        }
    }

    private static IllegalStateException refused(String why) {
        return new IllegalStateException("Wake-up by notification requires PostgreSQL, but " + why
                + ": remove that setting, and waiting threads poll");
    }

    /**
     * Returns the channel's name, which contains the id of the table. The table's name would not do: another schema may have a
     * table of the same name, and search paths may differ.
     */
    private static String nameFor(String table, Connection connection) throws SQLException {
        if (!PostgresDriver.gave(connection)) {
            throw refused("the connections do not come from PostgreSQL's own JDBC driver");
        }
        try (PreparedStatement query =
                connection.prepareStatement("select cast(cast(cast(? as text) as regclass) as oid)")) {
            query.setString(1, table);
            try (ResultSet result = query.executeQuery()) {
                result.next();
                return "holdfast_" + result.getLong(1);
            }
        }
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public boolean release(LockRows locks, LockEntity before, LockEntity after, String nodeId) {
        if (after.owner() != null) {
            return locks.release(before, after);
        }
        int released = locks instanceof AutocommitLockRows autocommit
                ? autocommit.update(
                        release,
                        before,
                        before.name(),
                        before.version(),
                        before.fencingToken(),
                        before.owner(),
                        name,
                        nodeId)
                : notifying.release(
                        before.name(), before.version(), before.fencingToken(), before.owner(), name, nodeId);
        return released == 1;
    }

    @Override
    public void listen(Receiver receiver) {
        try (Session session = transactions.unit().createEntityManager().unwrap(Session.class)) {
            session.doWork(connection -> new PostgresNotifications(connection, name).hear(receiver, this::probe));
        } catch (RuntimeException thrown) {
            throw translated(thrown);
        }
    }

    /** Sends a payload that cannot be a lock's name. It starts with a space, and a lock's name has no white space at its ends. */
    private String probe() {
        String probe = " " + UUID.randomUUID();
        transactions.committed(PROBE_LIMIT, () -> notifying.send(name, probe));
        return probe;
    }

    private static RuntimeException translated(RuntimeException thrown) {
        if (thrown instanceof StoreException || !SqlErrors.isFromDatabase(thrown)) {
            return thrown;
        }
        Failure failure = SqlErrors.ofStatement(thrown);
        return new StoreException(
                failure,
                failure.message() + " ("
                        + NestedExceptionUtils.getMostSpecificCause(thrown).getMessage() + ")",
                thrown);
    }
}
