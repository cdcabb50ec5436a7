package io.github.holdfast.repository;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.StoreException.Failure;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.PersistenceException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Types;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import javax.sql.DataSource;
import org.hibernate.Session;
import org.hibernate.boot.spi.SessionFactoryOptions;
import org.hibernate.context.spi.CurrentTenantIdentifierResolver;
import org.hibernate.engine.jdbc.connections.spi.ConnectionProvider;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.hibernate.metamodel.mapping.JdbcMapping;
import org.hibernate.resource.transaction.spi.TransactionCoordinatorBuilder;
import org.hibernate.type.CustomType;
import org.jspecify.annotations.Nullable;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;

/**
 * Checks that a persistence unit and its database are suitable for locks. It tests behaviour instead of reading metadata. For
 * example, it tests how the database compares names, because the name of a collation proves nothing.
 */
final class StartupCheck {

    private static final Duration AT_MOST = Duration.ofSeconds(30);

    /** Conflicts with other nodes, and internal errors of H2, can make the check fail, so it is repeated. */
    private static final int ATTEMPTS = 10;

    private static final String NAME_COLUMN =
            "the column distributed_lock.name needs the collation utf8mb4_0900_bin (MySQL), utf8mb4_nopad_bin (MariaDB) or"
                    + " \"C\" (PostgreSQL), as in the changelog " + LockSchema.CHANGELOG;

    private final EntityManagerFactory entityManagerFactory;
    private final SessionFactoryImplementor sessionFactory;

    StartupCheck(EntityManagerFactory entityManagerFactory) {
        this.entityManagerFactory = entityManagerFactory;
        try {
            // Spring's proxy of a factory implements SessionFactory, and would return itself for that type.
            sessionFactory = entityManagerFactory.unwrap(SessionFactoryImplementor.class);
        } catch (RuntimeException notHibernate) {
            throw new IllegalStateException(
                    "Holdfast needs Hibernate as the persistence provider, but the EntityManagerFactory is a "
                            + entityManagerFactory.getClass().getName(),
                    notHibernate);
        }
    }

    /** Returns the application's factory, without any proxy. */
    SessionFactoryImplementor sessionFactory() {
        return sessionFactory;
    }

    /** Checks the persistence unit without a connection to the database. */
    void persistenceUnit() {
        refuseUnless(
                !isSetTo("disabled", "hibernate.jpa.metamodel.population"),
                "Spring Data, which executes Holdfast's queries, needs the metamodel of JPA:"
                        + " hibernate.jpa.metamodel.population must not be disabled");
        refuseUnless(
                LockEntity.ENTITIES.stream().allMatch(this::isManaged),
                "The persistence unit does not manage all of Holdfast's entities: add "
                        + LockEntity.ENTITIES.stream().map(Class::getName).collect(Collectors.joining(", "))
                        + " to its classes");
        refuseUnless(
                !sessionFactory
                        .getServiceRegistry()
                        .requireService(TransactionCoordinatorBuilder.class)
                        .isJta(),
                "Holdfast does not support JTA transactions: use a persistence unit with resource-local transactions");
        refuseUnsupportedDatabase();
        refuseUnsupportedSettings();
    }

    private void refuseUnsupportedSettings() {
        SessionFactoryOptions options = sessionFactory.getSessionFactoryOptions();
        refuseUnless(
                !isSetTo("true", "hibernate.dialect.native_param_markers"),
                "Holdfast's statements are for JDBC: hibernate.dialect.native_param_markers must not be true");
        Object booleans = sessionFactory.getProperties().get("hibernate.type.preferred_boolean_jdbc_type");
        int code = options.getPreferredSqlTypeCodeForBoolean();
        refuseUnless(
                booleans == null || code == Types.BOOLEAN || code == Types.BIT,
                "Hibernate writes true and false in this type in all queries, and the columns of Holdfast's tables are boolean:"
                        + " hibernate.type.preferred_boolean_jdbc_type must not be " + booleans
                        + ", but BOOLEAN or BIT. Name the other type at the application's own attributes (@JdbcTypeCode or @Convert)");
        refuseUnless(
                !options.getJpaCompliance().isJpaQueryComplianceEnabled(),
                "Holdfast's queries use Hibernate's own functions: hibernate.jpa.compliance.query must not be true");
        refuseUnless(
                !options.isMultiTenancyEnabled(),
                "Holdfast does not support multi-tenant persistence units yet: give it one of its own");
        refuseRegisteredTypes();
        DataSource pool = poolOfApplication();
        if (pool != null) {
            refuseProxy("persistence unit's", pool);
        }
    }

    private boolean isSetTo(String value, String property) {
        return value.equalsIgnoreCase(
                String.valueOf(sessionFactory.getProperties().get(property)));
    }

    /** Refuses types that the application has registered for all attributes. From its converters the entities are safe. */
    private void refuseRegisteredTypes() {
        for (Class<?> entity : LockEntity.ENTITIES) {
            sessionFactory
                    .getMappingMetamodel()
                    .getEntityDescriptor(entity)
                    .forEachSelectable((index, column) -> refuseRegisteredType(column.getJdbcMapping()));
        }
    }

    private static void refuseRegisteredType(JdbcMapping mapping) {
        Object type = mapping instanceof CustomType<?> custom ? custom.getUserType() : mapping.getMappedJavaType();
        refuseUnless(
                type.getClass().getName().startsWith("org.hibernate."),
                "The application has registered " + type.getClass().getName()
                        + " for all attributes of one type, and so for those of Holdfast's tables, too: instead of registering it"
                        + " (@JavaTypeRegistration, @TypeRegistration or a TypeContributor), name it at the application's own attributes"
                        + " (@JavaType or @Type)");
    }

    /** Checks that the calling thread can open sessions. Hibernate resolves their tenant, even if no entity in them has one. */
    static void tenant(SessionFactoryImplementor factory) {
        CurrentTenantIdentifierResolver<?> resolver =
                factory.getSessionFactoryOptions().getCurrentTenantIdentifierResolver();
        if (resolver == null) {
            return;
        }
        try {
            IsolatedPersistenceUnit.of(factory, null).createEntityManager().close();
        } catch (RuntimeException refused) {
            throw new IllegalStateException(
                    "The threads of Holdfast cannot open sessions, because "
                            + resolver.getClass().getName() + " gives them no tenant (" + refused
                            + "): let it return a tenant to threads without a request. It may be any one, because Holdfast's"
                            + " tables have no tenants",
                    refused);
        }
    }

    private @Nullable DataSource poolOfApplication() {
        ConnectionProvider connections = sessionFactory.getServiceRegistry().requireService(ConnectionProvider.class);
        return connections.isUnwrappableAs(DataSource.class) ? connections.unwrap(DataSource.class) : null;
    }

    /** Checks the data source of lock operations. */
    static void refuseProxy(String whose, DataSource dataSource) {
        refuseUnless(
                !(dataSource instanceof TransactionAwareDataSourceProxy),
                "The " + whose + " data source is a TransactionAwareDataSourceProxy: a lock operation would run on the"
                        + " connection of the caller's transaction and commit it; use the proxy's target instead");
    }

    private boolean isManaged(Class<?> entity) {
        return entityManagerFactory.getMetamodel().getEntities().stream()
                .anyMatch(managed -> managed.getJavaType() == entity);
    }

    /** Checks the tables; leaves nothing behind. */
    void tables(JpaLockStore store) {
        try {
            names(store);
        } catch (StoreException failed) {
            if (failed.failure() != Failure.REFUSED && failed.failure() != Failure.READ_ONLY) {
                throw failed;
            }
            throw new IllegalStateException(
                    "The database refused to store a lock name ("
                            + NestedExceptionUtils.getMostSpecificCause(failed).getMessage()
                            + "): Holdfast needs write access to the primary database, and " + NAME_COLUMN,
                    failed);
        }
    }

    private void names(JpaLockStore store) {
        boolean unused = repeated(() -> store.inRolledBackTransaction(AT_MOST, locks -> {
            tableIsByteExact(locks);
            return locks.wasForced("holdfast", 0)
                    || store.runs().last("holdfast").isPresent()
                    || store.hasHoldersAndWaiters("holdfast");
        }));
    }

    private static <T> T repeated(Supplier<T> check) {
        for (int attempt = 1; ; attempt++) {
            try {
                return check.get();
            } catch (StoreException failed) {
                if (!failed.failure().isConflict() || attempt == ATTEMPTS) {
                    throw failed;
                }
            }
        }
    }

    /** Checks that one store sees the commits of the other; leaves nothing behind. */
    void isSameDatabase(JpaLockStore lockStore, JpaLockStore applicationStore) {
        String probe = "holdfast probe " + UUID.randomUUID();
        lockStore.inTransaction(AT_MOST, locks -> locks.createIfMissing(probe));
        try {
            refuseUnless(
                    applicationStore
                            .inTransaction(AT_MOST, locks -> locks.read(probe))
                            .isPresent(),
                    "The lock data source connects to another database or schema than the persistence unit: a lock"
                            + " there would not protect the application's data");
        } finally {
            lockStore.inTransaction(AT_MOST, () -> lockStore.pages().purge(List.of(probe)));
        }
    }

    /**
     * Checks the connections.
     *
     * @param dataSource the source of the connections; null for that of the application
     * @return the kind of cluster, if several servers write the database
     */
    Optional<String> connections(@Nullable DataSource dataSource) {
        pooler(dataSource);
        EntityManagerFactory unit = IsolatedPersistenceUnit.of(sessionFactory, dataSource);
        return repeated(() -> {
            try (Session session = unit.createEntityManager().unwrap(Session.class)) {
                return session.doReturningWork(this::severalWriters);
            } catch (PersistenceException thrown) {
                // H2's driver reads the isolation level by a query, which fails if another session ends meanwhile.
                Failure ofStatement = SqlErrors.of(dialect()).ofStatement(thrown);
                throw notChecked(ofStatement.isConflict() ? ofStatement : SqlErrors.ofBegin(thrown), thrown);
            }
        });
    }

    private Optional<String> severalWriters(Connection connection) throws SQLException {
        // What the driver says. A proxy may say less to it than the server says to the dialect.
        MultiClockDatabase.refuse(connection.getMetaData().getDatabaseProductVersion());
        dialect().check(connection);
        refuseUnless(
                !connection.isReadOnly(),
                "The data source provides read-only connections: Holdfast needs write access to the primary database");
        refuseUnless(
                connection.getTransactionIsolation() != Connection.TRANSACTION_READ_UNCOMMITTED,
                "The connections use READ UNCOMMITTED: Holdfast would rely on grants that are rolled back"
                        + " later; use READ COMMITTED or higher");
        refuseUnless(
                !connection.getAutoCommit() || !providerDisablesAutoCommit(),
                "hibernate.connection.provider_disables_autocommit is true, but the pool provides connections"
                        + " in autoCommit mode: set the pool's autoCommit to false, or remove the setting");
        return dialect().severalWriters(connection);
    }

    /**
     * Checks that no pooler loses the statements that the driver prepares on a PostgreSQL server.
     *
     * @param dataSource the source of the connections; null for that of the application
     */
    void pooler(@Nullable DataSource dataSource) {
        if (dialect().isPoolerChecked()) {
            try {
                PoolerProbe.on(
                        IsolatedPersistenceUnit.of(sessionFactory, dataSource),
                        dataSource == null ? poolOfApplication() : dataSource);
            } catch (PersistenceException thrown) {
                throw notChecked(SqlErrors.ofBegin(thrown), thrown);
            }
        }
    }

    private static StoreException notChecked(Failure failure, PersistenceException thrown) {
        return new StoreException(failure, "The database cannot be checked: " + failure.message(), thrown);
    }

    private boolean providerDisablesAutoCommit() {
        return sessionFactory.getSessionFactoryOptions().doesConnectionProviderDisableAutoCommit();
    }

    /**
     * Checks that the database distinguishes names by case, accent, Unicode form, zero-width characters and trailing spaces. With
     * an unsuitable collation, such names would be one lock. The only symptom would usually be a lock that is strangely busy.
     */
    private void tableIsByteExact(LockRows locks) {
        String probe = "holdfast caf\u00e9 \ud83d\udd12 " + UUID.randomUUID();
        locks.createIfMissing(probe);
        List<String> others = List.of(
                probe.replace("holdfast", "HOLDFAST"),
                probe.replace("\u00e9", "e"),
                probe.replace("\u00e9", "e\u0301"),
                probe.replace("holdfast", "holdfast\u200b"),
                probe.replace("\udd12", "\udd11"));
        refuseUnless(
                locks.read(probe).isPresent()
                        && others.stream().allMatch(other -> locks.read(other).isEmpty())
                        && (dialect().ignoresTrailingSpaces()
                                || locks.read(probe + " ").isEmpty()),
                "The database does not store and compare names byte by byte, so different names would be one lock: "
                        + NAME_COLUMN);
    }

    private void refuseUnsupportedDatabase() {
        LockDialect unused = dialect();
    }

    private LockDialect dialect() {
        return KnownDialects.of(sessionFactory);
    }

    private static void refuseUnless(boolean fulfilled, String problem) {
        if (!fulfilled) {
            throw new IllegalStateException(problem);
        }
    }
}
