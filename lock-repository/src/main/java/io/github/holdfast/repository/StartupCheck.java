package io.github.holdfast.repository;

import io.github.holdfast.entity.LockAudit;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockNode;
import io.github.holdfast.entity.LockRun;
import io.github.holdfast.repository.StoreException.Failure;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.PersistenceException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;
import javax.sql.DataSource;
import org.hibernate.Session;
import org.hibernate.boot.spi.SessionFactoryOptions;
import org.hibernate.dialect.Dialect;
import org.hibernate.dialect.MySQLDialect;
import org.hibernate.dialect.PostgreSQLDialect;
import org.hibernate.engine.jdbc.connections.spi.ConnectionProvider;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.hibernate.resource.transaction.spi.TransactionCoordinatorBuilder;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;

/**
 * What must be true of a persistence unit and its database before locks in it can be relied on. Behaviour is tried, not
 * metadata read: what counts is how the database compares names, not what it calls the collation.
 */
final class StartupCheck {

    private static final Duration AT_MOST = Duration.ofSeconds(30);

    /** At SERIALIZABLE, other nodes at work can make the check fail. */
    private static final int ATTEMPTS = 10;

    private static final List<Class<?>> ENTITIES =
            List.of(LockEntity.class, LockNode.class, LockAudit.class, LockRun.class);

    private static final String NAME_COLUMN =
            "the column distributed_lock.name needs the collation utf8mb4_0900_bin (MySQL), utf8mb4_nopad_bin (MariaDB) or"
                    + " \"C\" (PostgreSQL), as in the changelog " + LockSchema.CHANGELOG;

    private final EntityManagerFactory entityManagerFactory;
    private final SessionFactoryImplementor sessionFactory;

    StartupCheck(EntityManagerFactory entityManagerFactory) {
        this.entityManagerFactory = entityManagerFactory;
        try {
            // Spring's proxy of a factory is a SessionFactory itself, and answers with itself when asked for that.
            sessionFactory = entityManagerFactory.unwrap(SessionFactoryImplementor.class);
        } catch (RuntimeException notHibernate) {
            throw new IllegalStateException(
                    "Holdfast needs Hibernate as the persistence provider, but the EntityManagerFactory is a "
                            + entityManagerFactory.getClass().getName(),
                    notHibernate);
        }
    }

    /** Returns the application's factory itself, not a proxy of it. */
    SessionFactoryImplementor sessionFactory() {
        return sessionFactory;
    }

    /** Checks what can be told without asking the database. */
    void persistenceUnit() {
        refuseUnless(
                ENTITIES.stream().allMatch(this::isManaged),
                "The persistence unit does not manage all of Holdfast's entities: add "
                        + ENTITIES.stream().map(Class::getName).collect(Collectors.joining(", ")) + " to its classes");
        refuseUnless(
                !sessionFactory
                        .getServiceRegistry()
                        .requireService(TransactionCoordinatorBuilder.class)
                        .isJta(),
                "Holdfast does not support JTA transactions: use a persistence unit with resource-local transactions");
        if (SqlClock.of(dialect()).isEmpty()) {
            throw new UnsupportedDatabaseException(
                    "Holdfast supports PostgreSQL, MySQL, MariaDB and H2, but the persistence unit uses "
                            + dialect().getClass().getName());
        }
        refuseUnsupportedSettings();
    }

    private void refuseUnsupportedSettings() {
        SessionFactoryOptions options = sessionFactory.getSessionFactoryOptions();
        refuseUnless(
                !options.getJpaCompliance().isJpaQueryComplianceEnabled(),
                "Holdfast's queries use Hibernate's own functions: hibernate.jpa.compliance.query must not be true");
        refuseUnless(
                !options.isMultiTenancyEnabled(),
                "Holdfast does not support multi-tenant persistence units yet: give it one of its own");
        ConnectionProvider connections = options.getServiceRegistry().requireService(ConnectionProvider.class);
        if (connections.isUnwrappableAs(DataSource.class)) {
            refuseProxy("persistence unit's", connections.unwrap(DataSource.class));
        }
    }

    /** Checks a data source that lock operations have connections from. */
    static void refuseProxy(String whose, DataSource dataSource) {
        refuseUnless(
                !(dataSource instanceof TransactionAwareDataSourceProxy),
                "The " + whose + " data source is a TransactionAwareDataSourceProxy: a lock operation would run on the"
                        + " connection of the caller's transaction and commit it; give it the proxy's target");
    }

    private boolean isManaged(Class<?> entity) {
        return entityManagerFactory.getMetamodel().getEntities().stream()
                .anyMatch(managed -> managed.getJavaType() == entity);
    }

    /** Checks the tables; leaves nothing behind. */
    void tables(LockStore store) {
        try {
            names(store);
        } catch (StoreException failed) {
            if (failed.failure() != Failure.REFUSED && failed.failure() != Failure.READ_ONLY) {
                throw failed;
            }
            throw new IllegalStateException(
                    "The database refuses to store a lock's name ("
                            + NestedExceptionUtils.getMostSpecificCause(failed).getMessage()
                            + "): Holdfast needs to write, on the primary database, and " + NAME_COLUMN,
                    failed);
        }
    }

    private static void names(LockStore store) {
        for (int attempt = 1; ; attempt++) {
            try {
                store.inRolledBackTransaction(AT_MOST, locks -> {
                    tableIsByteExact(locks);
                    return store.audits().wasForced("holdfast", 0)
                            || store.runs().last("holdfast").isPresent();
                });
                return;
            } catch (StoreException failed) {
                if (!failed.failure().isConflict() || attempt == ATTEMPTS) {
                    throw failed;
                }
            }
        }
    }

    /** Checks that what one store has committed is there for the other; leaves nothing behind. */
    void isSameDatabase(LockStore lockStore, LockStore applicationStore) {
        String probe = "holdfast probe " + UUID.randomUUID();
        lockStore.inTransaction(AT_MOST, locks -> locks.createIfMissing(probe));
        try {
            refuseUnless(
                    applicationStore
                            .inTransaction(AT_MOST, locks -> locks.read(probe))
                            .isPresent(),
                    "The lock data source leads to another database or schema than the persistence unit: a lock there would"
                            + " not protect the application's data");
        } finally {
            lockStore.inTransaction(AT_MOST, () -> lockStore.table().purge(List.of(probe)));
        }
    }

    /**
     * Checks the connections.
     *
     * @param unit whose sessions have them
     * @return who writes the database
     */
    Cluster connections(EntityManagerFactory unit) {
        pooler(unit);
        try (Session session = unit.createEntityManager().unwrap(Session.class)) {
            return session.doReturningWork(connection -> {
                refuseUnless(
                        !connection.isReadOnly(),
                        "The data source gives read-only connections: Holdfast needs to write, on the primary database");
                refuseUnless(
                        connection.getTransactionIsolation() != Connection.TRANSACTION_READ_UNCOMMITTED,
                        "The connections are at READ UNCOMMITTED: a grant that is rolled back later would be believed; use"
                                + " READ COMMITTED or higher");
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
                return Cluster.of(connection, dialect());
            });
        } catch (PersistenceException thrown) {
            throw notChecked(thrown);
        }
    }

    /** Checks whether what the driver prepares on a server of PostgreSQL is found again. */
    void pooler(EntityManagerFactory unit) {
        if (dialect() instanceof PostgreSQLDialect) {
            try {
                PoolerCheck.on(unit);
            } catch (PersistenceException thrown) {
                throw notChecked(thrown);
            }
        }
    }

    private static StoreException notChecked(PersistenceException thrown) {
        Failure failure = SqlErrors.ofBegin(thrown);
        return new StoreException(failure, "The database cannot be checked: " + failure.message(), thrown);
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
        String probe = "holdfast caf\u00e9 \ud83d\udd12 " + UUID.randomUUID();
        locks.createIfMissing(probe);
        List<String> others = List.of(
                probe.replace("holdfast", "HOLDFAST"),
                probe.replace("\u00e9", "e"),
                probe.replace("\u00e9", "e\u0301"),
                probe.replace("holdfast", "holdfast\u200b"),
                probe.replace("\udd12", "\udd11"),
                probe + " ");
        refuseUnless(
                locks.read(probe).isPresent()
                        && others.stream().allMatch(other -> locks.read(other).isEmpty()),
                "Names are not kept byte by byte, so different locks would be one: " + NAME_COLUMN);
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
