package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.atomikos.icatch.jta.UserTransactionManager;
import com.atomikos.jdbc.AtomikosDataSourceBean;
import com.example.shop.Order;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LockAdmin;
import io.github.holdfast.service.LockService;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import java.io.Serial;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Locale;
import java.util.UUID;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcDataSource;
import org.hibernate.context.spi.CurrentTenantIdentifierResolver;
import org.hibernate.engine.jdbc.connections.spi.AbstractDataSourceBasedMultiTenantConnectionProviderImpl;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.autoconfigure.AutoConfigurationPackage;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.hibernate.autoconfigure.HibernateJpaAutoConfiguration;
import org.springframework.boot.hibernate.autoconfigure.HibernatePropertiesCustomizer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.orm.jpa.SharedEntityManagerCreator;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.jta.JtaTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/** Applications whose persistence unit cannot have the locks: they are in a unit of their own, and commits are checked. */
class OwnUnitTest {

    @TempDir
    static Path logs;

    @BeforeAll
    static void atomikos() {
        System.setProperty("com.atomikos.icatch.log_base_dir", logs.toString());
    }

    @Test
    void tenantsWithASchemaEachShareTheLocks() throws Exception {
        String url = "jdbc:h2:mem:" + UUID.randomUUID();
        try (ConfigurableApplicationContext context = Application.of(Tenants.class)
                .with("spring.datasource.url=" + url + ";DB_CLOSE_DELAY=-1")
                .with("spring.jpa.hibernate.ddl-auto=none", "spring.liquibase.enabled=false")
                .with("holdfast.jpa.own-unit=true", "holdfast.schema.management=sql")
                .with("holdfast.datasource.maximum-pool-size=5")
                .run()) {
            JdbcTemplate jdbc = new JdbcTemplate(context.getBean(DataSource.class));
            for (String tenant : new String[] {"north", "south"}) {
                jdbc.execute("create schema " + tenant);
                jdbc.execute("create table " + tenant + ".orders (id bigint not null primary key)");
            }
            Tenants.CURRENT.set("north");
            try {
                assertThatCommitsAreChecked(
                        context,
                        id -> jdbc.queryForObject("select count(*) from north.orders where id = " + id, Long.class));
            } finally {
                Tenants.CURRENT.remove();
            }
            assertThat(jdbc.queryForObject("select count(*) from south.orders", Long.class))
                    .isZero();
            assertThat(jdbc.queryForObject("select count(*) from public.distributed_lock", Long.class))
                    .isPositive();
        }
    }

    @Test
    void transactionsOfJtaAreChecked() throws Exception {
        String url = "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";
        JdbcDataSource database = new JdbcDataSource();
        database.setURL(url);
        JdbcTemplate jdbc = new JdbcTemplate(database);
        jdbc.execute("create table orders (id bigint not null primary key)");
        try (ConfigurableApplicationContext context = Application.of(WithJta.class)
                .with("spring.datasource.url=" + url, "holdfast.datasource.url=" + url)
                .with("spring.jpa.hibernate.ddl-auto=none", "spring.liquibase.enabled=false")
                .with("holdfast.jpa.own-unit=true", "holdfast.schema.management=sql")
                .run()) {
            assertThat(context.getBean(PlatformTransactionManager.class)).isInstanceOf(JtaTransactionManager.class);
            assertThatCommitsAreChecked(
                    context, id -> jdbc.queryForObject("select count(*) from orders where id = " + id, Long.class));
        }
    }

    /** Such as one with JdbcTemplate alone. */
    @Test
    void anApplicationWithoutAUnitHasTheLocks() throws Exception {
        try (ConfigurableApplicationContext context = Application.of(WithoutUnit.class)
                .with("spring.liquibase.enabled=false", "spring.data.jpa.repositories.enabled=false")
                .with("holdfast.jpa.own-unit=true", "holdfast.schema.management=sql")
                .with("holdfast.datasource.maximum-pool-size=4")
                .run()) {
            JdbcTemplate jdbc = new JdbcTemplate(context.getBean(DataSource.class));
            jdbc.execute("create table orders (id bigint not null primary key)");
            TransactionTemplate transaction =
                    new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
            assertThatExceptionOfType(LockLostException.class)
                    .isThrownBy(() -> transaction.executeWithoutResult(status -> {
                        LockHandle lost = acquired(context.getBean(LockService.class));
                        jdbc.update("insert into orders values (2)");
                        context.getBean(LockAdmin.class).forceRelease(lost.name(), "to see the commit fail");
                    }));
            assertThat(jdbc.queryForObject("select count(*) from orders", Long.class))
                    .isZero();
        }
    }

    private static void assertThatCommitsAreChecked(ConfigurableApplicationContext context, Count orders)
            throws InterruptedException {
        LockService locks = context.getBean(LockService.class);
        EntityManager entityManager =
                SharedEntityManagerCreator.createSharedEntityManager(context.getBean(EntityManagerFactory.class));
        TransactionTemplate transaction = new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
        try (LockHandle lock = locks.acquire(LockRequest.of("order:1"))) {
            transaction.executeWithoutResult(status -> entityManager.persist(new Order(1)));
            assertThat(lock.isFenced()).isFalse();
        }
        assertThat(orders.withId(1)).isEqualTo(1);
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> transaction.executeWithoutResult(status -> {
                    LockHandle lost = acquired(locks);
                    entityManager.persist(new Order(2));
                    entityManager.flush();
                    assertThat(context.getBean(LockAdmin.class).forceRelease(lost.name(), "to see the commit fail"))
                            .isPresent();
                }));
        assertThat(orders.withId(2)).isZero();
    }

    private static LockHandle acquired(LockService locks) {
        try {
            return locks.acquire(LockRequest.of("order:2"));
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException(interrupted);
        }
    }

    private interface Count {
        @Nullable
        Long withId(long id);
    }

    /** Each tenant has a schema. A thread without a tenant gets no connection. */
    @EnableAutoConfiguration
    @AutoConfigurationPackage(basePackageClasses = Order.class)
    static class Tenants {

        static final ThreadLocal<String> CURRENT = new ThreadLocal<>();

        @Bean
        HibernatePropertiesCustomizer tenants(DataSource dataSource) {
            return properties -> {
                properties.put("hibernate.multi_tenant_connection_provider", new Schemas(dataSource));
                properties.put("hibernate.tenant_identifier_resolver", new OfThread());
            };
        }
    }

    @EnableAutoConfiguration(exclude = HibernateJpaAutoConfiguration.class)
    static class WithoutUnit {}

    private static final class OfThread implements CurrentTenantIdentifierResolver<String> {

        @Override
        public String resolveCurrentTenantIdentifier() {
            String tenant = Tenants.CURRENT.get();
            if (tenant == null) {
                throw new IllegalStateException("This thread has no tenant");
            }
            return tenant;
        }

        @Override
        public boolean validateExistingCurrentSessions() {
            return false;
        }
    }

    private static final class Schemas extends AbstractDataSourceBasedMultiTenantConnectionProviderImpl<String> {

        @Serial
        private static final long serialVersionUID = 1L;

        private final transient DataSource all;

        Schemas(DataSource all) {
            this.all = all;
        }

        @Override
        protected DataSource selectAnyDataSource() {
            return all;
        }

        @Override
        protected DataSource selectDataSource(String tenant) {
            return new DelegatingDataSource(all) {
                @Override
                public Connection getConnection() throws SQLException {
                    Connection connection = super.getConnection();
                    connection.setSchema(tenant.toUpperCase(Locale.ROOT));
                    return connection;
                }
            };
        }
    }

    @EnableAutoConfiguration
    @AutoConfigurationPackage(basePackageClasses = Order.class)
    static class WithJta {

        @Bean(initMethod = "init", destroyMethod = "close")
        UserTransactionManager atomikos() {
            UserTransactionManager manager = new UserTransactionManager();
            manager.setForceShutdown(true);
            return manager;
        }

        @Bean
        JtaTransactionManager transactionManager(UserTransactionManager atomikos) {
            return new JtaTransactionManager(atomikos, atomikos);
        }

        @Bean(initMethod = "init", destroyMethod = "close")
        AtomikosDataSourceBean dataSource(Environment environment) {
            JdbcDataSource database = new JdbcDataSource();
            database.setURL(environment.getRequiredProperty("spring.datasource.url"));
            AtomikosDataSourceBean pool = new AtomikosDataSourceBean();
            pool.setUniqueResourceName("orders-" + UUID.randomUUID());
            pool.setXaDataSource(database);
            pool.setMaxPoolSize(3);
            return pool;
        }
    }
}
