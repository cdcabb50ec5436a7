package io.github.holdfast.repository;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.StoreException.Failure;
import jakarta.persistence.EntityManagerFactory;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.UUID;
import org.hibernate.Session;
import org.hibernate.dialect.PostgreSQLDialect;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.springframework.core.NestedExceptionUtils;

/**
 * PostgreSQL's notifications, by which a release wakes those who wait for the lock on other nodes. There is one channel for each
 * table of locks, and what is sent through it is the name of a lock. A notification is sent by the commit of the release, so
 * that whoever hears it finds the lock free; one that nobody hears is lost. Thread-safe.
 */
public final class WakeUpChannel {

    private static final Duration PROBE_LIMIT = Duration.ofSeconds(5);

    private final LockStore store;
    private final EntityManagerFactory unit;
    private final LockWakeUpRepository notifying;
    private final PreparedUpdate release;
    private final String name;

    private WakeUpChannel(LockStore store, EntityManagerFactory unit, LockWakeUpRepository notifying, String name) {
        this.store = store;
        this.unit = unit;
        this.notifying = notifying;
        this.release = PreparedUpdate.of(
                unit.unwrap(SessionFactoryImplementor.class),
                LockWakeUpRepository.class,
                "release",
                SqlClock.POSTGRESQL);
        this.name = name;
    }

    /**
     * The channel of a store.
     *
     * @throws IllegalStateException if this is not PostgreSQL with its own driver
     * @throws StoreException if the database failed
     */
    static WakeUpChannel of(LockStore store, EntityManagerFactory unit, LockWakeUpRepository notifying) {
        try (Session session = unit.createEntityManager().unwrap(Session.class)) {
            String table = unit.unwrap(SessionFactoryImplementor.class)
                    .getMappingMetamodel()
                    .getEntityDescriptor(LockEntity.class)
                    .getMappedTableDetails()
                    .getTableName();
            return new WakeUpChannel(
                    store, unit, notifying, session.doReturningWork(connection -> nameFor(table, connection)));
        } catch (RuntimeException thrown) {
            throw translated(thrown);
        }
    }

    /** Checks what can be told without a connection. */
    static void checkSupported(EntityManagerFactory unit) {
        if (!(unit.unwrap(SessionFactoryImplementor.class).getJdbcServices().getDialect()
                instanceof PostgreSQLDialect)) {
            throw refused("the persistence unit uses another database");
        }
    }

    private static IllegalStateException refused(String why) {
        return new IllegalStateException("Only on PostgreSQL are waiting threads woken by notifications, but " + why
                + ": leave that setting out, and they poll");
    }

    /** By the table's number: names of locks in another schema are other locks, and a search path is not the same everywhere. */
    private static String nameFor(String table, Connection connection) throws SQLException {
        if (!PostgresDriver.gave(connection)) {
            throw refused("the connections are not those of PostgreSQL's own JDBC driver");
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

    /** Returns the name of the channel. */
    public String name() {
        return name;
    }

    /**
     * As {@link LockRepository#release(LockEntity, LockEntity)}; if the row becomes free and another node waits, whatever for, the
     * commit notifies the channel. One statement.
     *
     * @param locks of a transaction of the store, or {@linkplain LockStore#standalone standalone}
     * @param nodeId the node that does not count as waiting, because it is the caller's; empty if there is none
     */
    public boolean release(LockRepository locks, LockEntity before, LockEntity after, String nodeId) {
        if (after.owner() != null) {
            return locks.release(before, after);
        }
        int released = locks instanceof StandaloneLocks standalone
                ? standalone.update(
                        release, before.name(), before.version(), before.fencingToken(), before.owner(), name, nodeId)
                : notifying.release(
                        before.name(), before.version(), before.fencingToken(), before.owner(), name, nodeId);
        return released == 1;
    }

    /** Hears what is sent, on the thread that {@linkplain #listen listens}. */
    public interface Receiver {

        /** Whether it wants to hear more; asked about four times a second. */
        boolean isOpen();

        /** From now on nothing is missed that is sent as long as the connection lives. */
        void ready();

        /** Somebody has given a lock back, or said so. */
        void givenBack(String lockName);
    }

    /**
     * Listens on one connection, until the receiver wants no more. That notifications arrive is tried with one of its own, which
     * is sent through another connection: through a pooler that changes sessions between transactions, {@code LISTEN} succeeds
     * and nothing ever arrives.
     *
     * @throws StoreException if there is no connection, or it broke, or nothing arrives; the receiver may have missed something
     */
    public void listen(Receiver receiver) {
        try (Session session = unit.createEntityManager().unwrap(Session.class)) {
            session.doWork(connection -> new PostgresNotifications(connection, name).hear(receiver, this::probe));
        } catch (RuntimeException thrown) {
            throw translated(thrown);
        }
    }

    /** A payload that can be no lock's name, which has no white space at its ends. */
    private String probe() {
        String probe = " " + UUID.randomUUID();
        store.inTransaction(PROBE_LIMIT, () -> notifying.send(name, probe));
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
