package io.github.holdfast.repository;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockNode;
import io.github.holdfast.repository.StoreException.Failure;
import jakarta.persistence.EntityManagerFactory;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.hibernate.HibernateException;
import org.hibernate.Session;
import org.hibernate.dialect.Dialect;
import org.hibernate.dialect.MySQLDialect;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.hibernate.resource.transaction.spi.TransactionCoordinatorBuilder;

/**
 * What must be true of a persistence unit and its database before locks in it can be relied on. Behaviour is tried, not
 * metadata read: what counts is how the database compares names, not what it calls the collation.
 */
final class StartupCheck {

    private static final Duration AT_MOST = Duration.ofSeconds(30);

    private final EntityManagerFactory entityManagerFactory;
    private final SessionFactoryImplementor sessionFactory;

    StartupCheck(EntityManagerFactory entityManagerFactory) {
        this.entityManagerFactory = entityManagerFactory;
        try {
            sessionFactory = entityManagerFactory.unwrap(SessionFactoryImplementor.class);
        } catch (RuntimeException notHibernate) {
            throw new IllegalStateException(
                    "Holdfast needs Hibernate as the persistence provider, but the EntityManagerFactory is a "
                            + entityManagerFactory.getClass().getName(),
                    notHibernate);
        }
    }

    /** Checks what can be told without asking the database. */
    void persistenceUnit() {
        refuseUnless(
                isManaged(LockEntity.class) && isManaged(LockNode.class),
                "The persistence unit does not manage Holdfast's entities: add " + LockEntity.class.getName() + " and "
                        + LockNode.class.getName() + " to its classes");
        refuseUnless(
                !sessionFactory
                        .getServiceRegistry()
                        .requireService(TransactionCoordinatorBuilder.class)
                        .isJta(),
                "Holdfast does not support JTA transactions: use a persistence unit with resource-local transactions");
        refuseUnless(
                SqlClock.of(dialect()).isPresent(),
                "Holdfast supports PostgreSQL, MySQL, MariaDB and H2, but the persistence unit uses "
                        + dialect().getClass().getName());
    }

    private boolean isManaged(Class<?> entity) {
        return entityManagerFactory.getMetamodel().getEntities().stream()
                .anyMatch(managed -> managed.getJavaType() == entity);
    }

    /** Checks the connections and the tables; leaves nothing behind. */
    void database(LockStore store) {
        connection();
        store.inRolledBackTransaction(AT_MOST, locks -> {
            tableIsByteExact(locks);
            return null;
        });
    }

    private void connection() {
        try (Session session = sessionFactory.openSession()) {
            session.doWork(connection -> {
                refuseUnless(
                        !connection.isReadOnly(),
                        "The data source gives read-only connections: Holdfast needs to write, on the primary database");
                refuseUnless(
                        !connection.getAutoCommit() || !providerDisablesAutoCommit(),
                        "hibernate.connection.provider_disables_autocommit is true, but the pool gives connections in"
                                + " autoCommit mode: set the pool's autoCommit to false, or remove the setting");
                if (dialect() instanceof MySQLDialect) {
                    refuseUnless(
                            isSysdateTheWallClock(connection),
                            "The database server runs with sysdate-is-now: leases would be shortened by the time that a"
                                    + " statement waits for a row; start the server without that option");
                }
            });
        } catch (HibernateException thrown) {
            throw new StoreException(
                    Failure.UNAVAILABLE, "Holdfast cannot get a connection to check the database", thrown);
        }
    }

    private boolean providerDisablesAutoCommit() {
        return sessionFactory.getSessionFactoryOptions().doesConnectionProviderDisableAutoCommit();
    }

    /** With sysdate-is-now, sysdate() is the statement's start like now(), and a pause between them is not seen. */
    private static boolean isSysdateTheWallClock(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery(
                        "select if(sleep(0.002) = 0, timestampdiff(microsecond, now(6), sysdate(6)), 0)")) {
            return result.next() && result.getLong(1) > 0;
        }
    }

    /**
     * Names that differ in case, accent, Unicode form, zero-width characters or trailing spaces are different locks. A
     * column with another collation would make them one, and mostly show only as a lock that is strangely busy.
     */
    private static void tableIsByteExact(LockRepository locks) {
        String unique = UUID.randomUUID().toString();
        String probe = "holdfast caf\u00e9 " + unique;
        locks.createIfMissing(probe);
        List<String> others = List.of(
                "HOLDFAST caf\u00e9 " + unique,
                "holdfast cafe " + unique,
                "holdfast cafe\u0301 " + unique,
                "holdfast\u200b caf\u00e9 " + unique,
                probe + " ");
        refuseUnless(
                locks.read(probe).isPresent()
                        && others.stream().allMatch(other -> locks.read(other).isEmpty()),
                "The column distributed_lock.name does not keep names byte by byte, so different locks would be one:"
                        + " give it the collation utf8mb4_0900_bin (MySQL), utf8mb4_nopad_bin (MariaDB) or \"C\""
                        + " (PostgreSQL), as the changelog " + LockSchema.CHANGELOG + " does");
    }

    private Dialect dialect() {
        return sessionFactory.getJdbcServices().getDialect();
    }

    private static void refuseUnless(boolean fulfilled, String problem) {
        if (!fulfilled) {
            throw new IllegalStateException(problem);
        }
    }
}
