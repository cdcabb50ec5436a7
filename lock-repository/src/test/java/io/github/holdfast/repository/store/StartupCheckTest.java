package io.github.holdfast.repository.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.DatabaseSetupException;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import jakarta.persistence.Entity;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.Id;
import jakarta.persistence.PersistenceException;
import java.lang.reflect.Proxy;
import java.time.Instant;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.hibernate.annotations.JavaTypeRegistration;
import org.hibernate.dialect.CockroachDialect;
import org.hibernate.dialect.H2Dialect;
import org.hibernate.dialect.OracleDialect;
import org.hibernate.engine.jdbc.connections.spi.AbstractDataSourceBasedMultiTenantConnectionProviderImpl;
import org.hibernate.type.descriptor.java.InstantJavaType;
import org.hibernate.type.descriptor.java.StringJavaType;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.jta.JtaTransactionManager;

class StartupCheckTest {

    private static final DataSource NO_DATABASE = new DriverManagerDataSource("jdbc:none:nowhere");

    private static final Map<String, Object> WITHOUT_DATABASE =
            Map.of("hibernate.dialect", H2Dialect.class.getName(), "hibernate.boot.allow_jdbc_metadata_access", false);

    @Test
    void otherDatabasesAreRefused() {
        try (EntityManagerFactory unit = unit("hibernate.dialect", OracleDialect.class.getName())) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> LockStore.open(unit))
                    .withMessageContaining("PostgreSQL, MySQL, MariaDB and H2")
                    .withMessageContaining(OracleDialect.class.getName());
        }
    }

    @Test
    void aDialectOfManyClocksIsRefusedByName() {
        try (EntityManagerFactory unit = unit("hibernate.dialect", CockroachDialect.class.getName())) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> LockStore.open(unit))
                    .withMessageContaining("does not support CockroachDB");
        }
    }

    @Test
    void persistenceUnitWithJtaTransactionsIsRefused() {
        try (EntityManagerFactory unit = unit("hibernate.transaction.coordinator_class", "jta")) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> LockStore.open(unit))
                    .withMessageContaining("JTA");
        }
    }

    @Test
    void strictJpaQueriesAreRefused() {
        try (EntityManagerFactory unit = unit("hibernate.jpa.compliance.query", "true")) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> LockStore.open(unit))
                    .withMessageContaining("hibernate.jpa.compliance.query");
        }
    }

    @ParameterizedTest
    @CsvSource({
        "hibernate.dialect.native_param_markers, true",
        "hibernate.jpa.metamodel.population, disabled",
        "hibernate.type.preferred_boolean_jdbc_type, INTEGER",
        "hibernate.type.preferred_boolean_jdbc_type, CHAR"
    })
    void aSettingThatHoldfastCannotWorkWithIsNamed(String property, String value) {
        try (EntityManagerFactory unit = unit(property, value)) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> LockStore.open(unit))
                    .withMessageContaining(property + " must not be " + value);
        }
    }

    @ParameterizedTest
    @ValueSource(classes = {Texts.class, Instants.class})
    void aTypeThatIsRegisteredForAllAttributesIsRefusedByName(Class<?> application) {
        Class<?>[] managed = Stream.concat(LockEntity.ENTITIES.stream(), Stream.of(application))
                .toArray(Class<?>[]::new);
        try (EntityManagerFactory unit = PersistenceUnit.of(NO_DATABASE, WITHOUT_DATABASE, managed)) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> LockStore.open(unit))
                    .withMessageContaining(application.getName() + "$Registered")
                    .withMessageContaining("at the application's own attributes");
        }
    }

    @Entity(name = "Texts")
    @JavaTypeRegistration(javaType = String.class, descriptorClass = Texts.Registered.class)
    static class Texts {
        @Id
        long id;

        static class Registered extends StringJavaType {
            private static final long serialVersionUID = 1L;
        }
    }

    @Entity(name = "Instants")
    @JavaTypeRegistration(javaType = Instant.class, descriptorClass = Instants.Registered.class)
    static class Instants {
        @Id
        long id;

        static class Registered extends InstantJavaType {
            private static final long serialVersionUID = 1L;
        }
    }

    @Test
    void multiTenantPersistenceUnitIsRefused() {
        try (EntityManagerFactory unit = unit("hibernate.multi_tenant_connection_provider", new Tenants())) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> LockStore.open(unit))
                    .withMessageContaining("a schema or database for each tenant")
                    .withMessageContaining("separateTransactionManager");
        }
    }

    private static final class Tenants extends AbstractDataSourceBasedMultiTenantConnectionProviderImpl<String> {
        private static final long serialVersionUID = 1L;

        @Override
        protected DataSource selectAnyDataSource() {
            return NO_DATABASE;
        }

        @Override
        protected DataSource selectDataSource(String tenant) {
            return NO_DATABASE;
        }
    }

    @Test
    void dataSourceOfTheCallersTransactionIsRefused() {
        try (EntityManagerFactory unit =
                unit("jakarta.persistence.nonJtaDataSource", new TransactionAwareDataSourceProxy(NO_DATABASE))) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> LockStore.open(unit))
                    .withMessageContaining("TransactionAwareDataSourceProxy");
        }
    }

    private static EntityManagerFactory unit(String property, Object value) {
        Map<String, Object> properties = new HashMap<>(WITHOUT_DATABASE);
        properties.put(property, value);
        return PersistenceUnit.directlyOn(NO_DATABASE, properties);
    }

    @Test
    void jtaTransactionManagerIsRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> CommitGuard.checkSupported(new JtaTransactionManager() {
                    private static final long serialVersionUID = 1L;
                }))
                .withMessageContaining("JTA");

        CommitGuard.checkSupported(new JpaTransactionManager());
        CommitGuard.checkSupported(new JdbcTransactionManager());
    }

    @Test
    void otherPersistenceProvidersAreRefused() {
        EntityManagerFactory other = (EntityManagerFactory) Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {EntityManagerFactory.class},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "unwrap" -> throw new PersistenceException("Not Hibernate");
                    default -> method.getName();
                });

        assertThatIllegalStateException()
                .isThrownBy(() -> LockStore.open(other))
                .withMessageContaining("Hibernate")
                .withMessageContaining(other.getClass().getName());
    }

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class InH2Memory extends StartupCheckContract {

        /** The driver reads the isolation level from the view of all sessions, some of which end meanwhile. */
        @Test
        void anInternalErrorOfH2IsNotItsLastWord(Database database) {
            InternalErrorOnce error = new InternalErrorOnce();
            try (EntityManagerFactory unit = PersistenceUnit.directlyOn(error.of(database.dataSource()), Map.of())) {
                error.arm();

                LockStore.open(unit).close();

                assertThat(error.hasHappened()).isTrue();
            }
        }
    }

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class InPostgreSql extends StartupCheckContract {

        @ParameterizedTest
        @ValueSource(strings = {"LATIN1", "KOI8R", "SQL_ASCII", "EUC_JP"})
        void encodingNeedNotBeUnicode(String encoding, Database database) {
            String name = "holdfast_" + encoding.toLowerCase(Locale.ROOT);
            database.administer("drop database if exists " + name);
            database.administer("create database %s encoding '%s' locale 'C' template template0 owner %s"
                    .formatted(name, encoding, database.user()));
            try {
                DataSource dataSource = new DriverManagerDataSource(
                        database.url().replaceFirst("/[^/?]+(\\?|$)", "/" + name + "$1"),
                        database.user(),
                        database.password());
                LockSchema.on(dataSource).createIfMissing();
                try (EntityManagerFactory unit = PersistenceUnit.directlyOn(dataSource, Map.of())) {
                    LockStore.open(unit).close();
                }
            } finally {
                database.administer("drop database " + name + " with (force)");
            }
        }
    }

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    @Tag("other-database")
    class InMariaDb extends StartupCheckContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    @Tag("other-database")
    class InMySql extends StartupCheckContract {

        @Test
        void characterSetOfTheConnectionIsNamed(Database database) {
            LockSchema.on(database.dataSource()).createIfMissing();
            String url = database.url() + (database.url().contains("?") ? "&" : "?") + "characterEncoding=ISO-8859-1";
            DataSource latin = new DriverManagerDataSource(url, database.user(), database.password());
            try (EntityManagerFactory unit = PersistenceUnit.directlyOn(latin, Map.of())) {
                assertThatThrownBy(() -> LockStore.open(unit))
                        .isInstanceOfSatisfying(
                                DatabaseSetupException.class,
                                failure -> assertThat(failure.problem())
                                        .isEqualTo(DatabaseSetupException.Problem.CHARACTER_SET));
            }
        }
    }
}
