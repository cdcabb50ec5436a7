package io.github.holdfast.repository.store;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.DatabaseSetupException;
import io.github.holdfast.repository.DatabaseSetupException.Problem;
import io.github.holdfast.repository.KnownDialects;
import io.github.holdfast.repository.LockDialect;
import io.github.holdfast.repository.LockTables;
import io.github.holdfast.repository.MultiClockDatabase;
import io.github.holdfast.repository.MysqlLockDialect;
import io.github.holdfast.repository.SqlErrors;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.repository.jdbc.IsolatedPersistenceUnit;
import jakarta.persistence.EntityManagerFactory;
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
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.hibernate.metamodel.mapping.JdbcMapping;
import org.hibernate.resource.transaction.spi.TransactionCoordinatorBuilder;
import org.hibernate.type.CustomType;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;

/**
 * Checks that a persistence unit and its database are suitable for locks. It tests behaviour instead of reading metadata. For
 * example, it tests how the database compares names, because the name of a collation proves nothing.
 */
final class StartupCheck {

    static final Duration AT_MOST = Duration.ofSeconds(30);

    /** Conflicts with other nodes, and internal errors of H2, can make the check fail, so it is repeated. */
    private static final int ATTEMPTS = 10;

    private static final String OWN_UNIT =
            "give them a persistence unit of their own, and the application's transaction manager to separateTransactionManager(...)";

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
                "The persistence unit has JTA transactions, and locks need resource-local ones: " + OWN_UNIT);
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
                "The persistence unit has a schema or database for each tenant, and all tenants share the locks: "
                        + OWN_UNIT);
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
        return LockTables.dataSource(sessionFactory).orElse(null);
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

    /** Repeats a check that failed because of a conflict. */
    static <T> T repeated(Supplier<T> check) {
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
            if (applicationStore
                    .inTransaction(AT_MOST, locks -> locks.read(probe))
                    .isEmpty()) {
                throw otherDatabase(null);
            }
        } catch (StoreException failed) {
            throw failed.failure() == Failure.TABLE_MISSING ? otherDatabase(failed) : failed;
        } finally {
            lockStore.inTransaction(AT_MOST, () -> lockStore.pages().purge(List.of(probe)));
        }
    }

    /** Returns the refusal of a lock data source whose locks would protect nothing. */
    static DatabaseSetupException otherDatabase(@Nullable StoreException failed) {
        return new DatabaseSetupException(
                Problem.OTHER_DATABASE,
                "The lock data source connects to another database or schema than the persistence unit: a lock"
                        + " there would not protect the application's data"
                        + (failed == null ? "" : " (" + SqlErrors.words(failed) + ")"),
                failed);
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
            } catch (RuntimeException thrown) {
                refuseUnlessFromDatabase(thrown);
                // H2's driver reads the isolation level by a query, which fails if another session ends meanwhile.
                Failure ofStatement = SqlErrors.of(dialect()).ofStatement(thrown);
                throw notChecked(ofStatement.isConflict() ? ofStatement : SqlErrors.ofBegin(thrown), thrown);
            }
        });
    }

    private Optional<String> severalWriters(Connection connection) throws SQLException {
        // What the driver says. A proxy may say less to it than the server says to the dialect.
        MultiClockDatabase.refuse(connection.getMetaData().getDatabaseProductVersion());
        dialectIsOf(connection);
        dialect().check(connection);
        if (connection.isReadOnly()) {
            throw new DatabaseSetupException(
                    Problem.READ_ONLY,
                    "The data source provides read-only connections: Holdfast needs write access to the primary database",
                    null);
        }
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

    /** Hibernate's SQL for another database may fail, or mean something else. MySQL and MariaDB understand each other. */
    private void dialectIsOf(Connection connection) throws SQLException {
        LockDialect connected = KnownDialects.of(connection.getMetaData()).orElse(null);
        LockDialect used = dialect();
        boolean isSame = connected == null
                || connected == used
                || (connected instanceof MysqlLockDialect && used instanceof MysqlLockDialect);
        if (!isSame) {
            throw new DatabaseSetupException(
                    Problem.DIALECT,
                    "The persistence unit has the dialect %s, which is for %s, but its connections lead to %s %s"
                            .formatted(
                                    sessionFactory
                                            .getJdbcServices()
                                            .getDialect()
                                            .getClass()
                                            .getName(),
                                    used.label(),
                                    connection.getMetaData().getDatabaseProductName(),
                                    connection.getMetaData().getDatabaseProductVersion()),
                    null);
        }
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
            } catch (RuntimeException thrown) {
                refuseUnlessFromDatabase(thrown);
                throw notChecked(SqlErrors.ofBegin(thrown), thrown);
            }
        }
    }

    /** HikariCP reports the failure of its first connection by an exception that is not of JPA. */
    private static void refuseUnlessFromDatabase(RuntimeException thrown) {
        if (!SqlErrors.isFromDatabase(thrown)) {
            throw thrown;
        }
    }

    private static StoreException notChecked(Failure failure, RuntimeException thrown) {
        return new StoreException(
                failure,
                "The database cannot be checked: %s (%s)".formatted(failure.message(), SqlErrors.words(thrown)),
                thrown);
    }

    private boolean providerDisablesAutoCommit() {
        return sessionFactory.getSessionFactoryOptions().doesConnectionProviderDisableAutoCommit();
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
