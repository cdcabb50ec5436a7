package io.github.holdfast.autoconfigure;

import static io.github.holdfast.autoconfigure.Application.assertThatLocksProtect;
import static org.assertj.core.api.Assertions.assertThat;

import com.example.archive.Archived;
import com.example.shop.Order;
import com.example.shop.OrderRepository;
import com.example.shop.Shop;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LockService;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.PersistenceException;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.AutoConfigurationPackage;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.jdbc.DataSourceBuilder;
import org.springframework.boot.jpa.EntityManagerFactoryBuilder;
import org.springframework.boot.persistence.autoconfigure.EntityScan;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Primary;
import org.springframework.core.env.Environment;
import org.springframework.data.jpa.repository.config.EnableJpaRepositories;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.vendor.HibernateJpaVendorAdapter;

/** However an application configures JPA, it has the locks and keeps what it had. Its own changelog makes its table. */
class UserStyleTest {

    @ParameterizedTest
    @ValueSource(
            classes = {
                Shop.class,
                OwnEntityScan.class,
                OwnRepositories.class,
                OwnEntityScanAndRepositories.class,
                OwnFactoryByBuilder.class,
                OwnFactoryByHand.class,
                OwnFactoryWithoutFactoryBean.class,
                ScansTheLocksToo.class
            })
    void locksProtectOrders(Class<?> style) throws Exception {
        try (ConfigurableApplicationContext context = Application.of(style).run()) {
            assertThatLocksProtect(context);
            assertThat(context.getBean(OrderRepository.class).count()).isEqualTo(1);
        }
    }

    @Test
    void theMappingFileDoesNoHarm() throws Exception {
        try (ConfigurableApplicationContext context = Application.of(Shop.class)
                .with("spring.jpa.mapping-resources=META-INF/holdfast-orm.xml")
                .run()) {
            assertThatLocksProtect(context);
        }
    }

    @Test
    void onlyTheNamedUnitHasTheLocks() throws Exception {
        try (ConfigurableApplicationContext context = Application.of(TwoUnits.class)
                .with("holdfast.jpa.persistence-unit=orders")
                .run()) {
            assertThatLocksProtect(context, "orders", "orderTransactions", new Order(1));
            assertThat(hasLocks(context, "archive")).isFalse();
        }
    }

    @Test
    void aUnitOnAnotherDataSourceCanHaveTheLocks() throws Exception {
        try (ConfigurableApplicationContext context = Application.of(TwoUnitsWithLocksInTheSecond.class)
                .with("holdfast.jpa.persistence-unit=archive")
                .run()) {
            assertThatLocksProtect(context, "archive", "archiveTransactions", new Archived(1));
            assertThat(hasLocks(context, "orders")).isFalse();
        }
    }

    /** Its data source is not the primary one, and is not marked. */
    @Test
    void tablesAreInTheDatabaseOfTheUnit() throws Exception {
        try (ConfigurableApplicationContext context = Application.of(TwoUnits.class)
                .with("holdfast.jpa.persistence-unit=archive", "spring.liquibase.enabled=false")
                .with("holdfast.schema.management=sql", "spring.jpa.hibernate.ddl-auto=update")
                .run()) {
            assertThatLocksProtect(context, "archive", "archiveTransactions", new Archived(1));
        }
    }

    @Test
    void thePrimaryTransactionManagerIsChecked() throws Exception {
        try (ConfigurableApplicationContext context =
                Application.of(TwoManagers.class).run()) {
            assertThatLocksProtect(context);
        }
    }

    @Test
    void aTransactionManagerOfAnotherProviderDoesNoHarm() throws Exception {
        try (ConfigurableApplicationContext context =
                Application.of(TwoProviders.class).run()) {
            assertThatLocksProtect(context);
        }
    }

    @Test
    void theUnitMayBeInAParentContext() throws Exception {
        String url = "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";
        try (AnnotationConfigApplicationContext parent = new AnnotationConfigApplicationContext()) {
            parent.registerBean(DataSource.class, () -> new DriverManagerDataSource(url));
            parent.register(UnitOfParent.class);
            parent.refresh();
            try (ConfigurableApplicationContext child = new SpringApplicationBuilder(Child.class)
                            .parent(parent)
                            .web(WebApplicationType.NONE)
                            .properties("spring.liquibase.enabled=false")
                            .run();
                    LockHandle lock = child.getBean(LockService.class).acquire(LockRequest.of("order:1"))) {
                assertThat(lock.isFenced()).isTrue();
            }
        }
    }

    private static boolean hasLocks(ConfigurableApplicationContext context, String unit) {
        return context.getBean(unit, EntityManagerFactory.class).getMetamodel().getEntities().stream()
                .anyMatch(entity -> entity.getJavaType() == LockEntity.class);
    }

    @EnableAutoConfiguration
    @EntityScan(basePackageClasses = Order.class)
    @AutoConfigurationPackage(basePackageClasses = Order.class)
    static class OwnEntityScan {}

    @EnableAutoConfiguration
    @EnableJpaRepositories(basePackageClasses = OrderRepository.class)
    @AutoConfigurationPackage(basePackageClasses = Order.class)
    static class OwnRepositories {}

    @EnableAutoConfiguration
    @EntityScan(basePackageClasses = Order.class)
    @EnableJpaRepositories(basePackageClasses = OrderRepository.class)
    static class OwnEntityScanAndRepositories {}

    @EnableAutoConfiguration
    @EntityScan(basePackageClasses = {Order.class, LockEntity.class})
    @EnableJpaRepositories(basePackageClasses = OrderRepository.class)
    static class ScansTheLocksToo {}

    @EnableAutoConfiguration
    @AutoConfigurationPackage(basePackageClasses = Order.class)
    static class OwnFactoryByBuilder {
        @Bean
        LocalContainerEntityManagerFactoryBean entityManagerFactory(
                EntityManagerFactoryBuilder builder, DataSource dataSource) {
            return builder.dataSource(dataSource).packages(Order.class).build();
        }
    }

    @EnableAutoConfiguration
    @AutoConfigurationPackage(basePackageClasses = Order.class)
    static class OwnFactoryByHand {
        @Bean
        LocalContainerEntityManagerFactoryBean entityManagerFactory(DataSource dataSource) {
            LocalContainerEntityManagerFactoryBean factory = unitByHand(dataSource);
            factory.setMappingResources("META-INF/holdfast-orm.xml");
            return factory;
        }
    }

    /** Spring does not see how it is made. */
    @EnableAutoConfiguration
    @AutoConfigurationPackage(basePackageClasses = Order.class)
    static class OwnFactoryWithoutFactoryBean {
        @Bean
        EntityManagerFactory entityManagerFactory(DataSource dataSource) {
            LocalContainerEntityManagerFactoryBean factory = unitByHand(dataSource);
            factory.setMappingResources("META-INF/holdfast-orm.xml");
            factory.afterPropertiesSet();
            return Objects.requireNonNull(factory.getObject());
        }
    }

    /** The one for batches comes first. */
    @Import(Shop.class)
    static class TwoManagers {
        @Bean
        JpaTransactionManager batchTransactions(EntityManagerFactory unit) {
            return new JpaTransactionManager(unit);
        }

        @Bean
        @Primary
        JpaTransactionManager transactionManager(EntityManagerFactory unit) {
            return new JpaTransactionManager(unit);
        }
    }

    /** The unit of the other manager is no bean. */
    @Import(Shop.class)
    static class TwoProviders {
        @Bean
        JpaTransactionManager otherTransactions() {
            return new JpaTransactionManager((EntityManagerFactory) Proxy.newProxyInstance(
                    UserStyleTest.class.getClassLoader(),
                    new Class<?>[] {EntityManagerFactory.class},
                    (proxy, method, arguments) -> {
                        throw new PersistenceException("not of Hibernate: " + method.getName());
                    }));
        }

        @Bean
        @Primary
        JpaTransactionManager transactionManager(EntityManagerFactory unit) {
            return new JpaTransactionManager(unit);
        }
    }

    @EnableAutoConfiguration
    static class Child {}

    @Configuration(proxyBeanMethods = false)
    static class UnitOfParent {
        @Bean
        LocalContainerEntityManagerFactoryBean entityManagerFactory(DataSource dataSource) {
            LocalContainerEntityManagerFactoryBean factory = unitByHand(dataSource);
            factory.setMappingResources("META-INF/holdfast-orm.xml");
            factory.setJpaPropertyMap(Map.of("hibernate.hbm2ddl.auto", "update"));
            return factory;
        }

        @Bean
        JpaTransactionManager transactionManager(EntityManagerFactory unit) {
            return new JpaTransactionManager(unit);
        }
    }

    static LocalContainerEntityManagerFactoryBean unitByHand(DataSource dataSource) {
        LocalContainerEntityManagerFactoryBean factory = new LocalContainerEntityManagerFactoryBean();
        factory.setDataSource(dataSource);
        factory.setPackagesToScan("com.example.shop");
        factory.setJpaVendorAdapter(new HibernateJpaVendorAdapter());
        factory.setJpaPropertyMap(Map.of("hibernate.hbm2ddl.auto", "validate"));
        return factory;
    }

    /** Both are validated, so each must have its own tables and no others. */
    @EnableAutoConfiguration
    static class TwoUnits extends TwoUnitsBase {
        @Bean
        DataSource archiveData() {
            return archive("first");
        }
    }

    @EnableAutoConfiguration
    static class TwoUnitsWithLocksInTheSecond extends TwoUnitsBase {
        @Bean
        @LockDataSource
        DataSource archiveData() {
            return archive("second");
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableJpaRepositories(
            basePackageClasses = OrderRepository.class,
            entityManagerFactoryRef = "orders",
            transactionManagerRef = "orderTransactions")
    abstract static class TwoUnitsBase {

        static DataSource archive(String name) {
            return DataSourceBuilder.create()
                    .url(
                            "jdbc:h2:mem:archive-" + name
                                    + ";DB_CLOSE_DELAY=-1;INIT=create table if not exists archived(id bigint not null primary key)")
                    .build();
        }

        @Bean
        @Primary
        DataSource orderData(Environment environment) {
            return DataSourceBuilder.create()
                    .url(environment.getRequiredProperty("spring.datasource.url"))
                    .build();
        }

        @Bean
        LocalContainerEntityManagerFactoryBean orders(EntityManagerFactoryBuilder builder, DataSource orderData) {
            return builder.dataSource(orderData)
                    .packages(Order.class)
                    .persistenceUnit("orders")
                    .build();
        }

        @Bean
        LocalContainerEntityManagerFactoryBean archive(
                EntityManagerFactoryBuilder builder, @Qualifier("archiveData") DataSource archiveData) {
            return builder.dataSource(archiveData)
                    .packages(Archived.class)
                    .persistenceUnit("archive")
                    .build();
        }

        @Bean
        @Primary
        JpaTransactionManager orderTransactions(@Qualifier("orders") EntityManagerFactory orders) {
            return new JpaTransactionManager(orders);
        }

        @Bean
        JpaTransactionManager archiveTransactions(@Qualifier("archive") EntityManagerFactory archive) {
            return new JpaTransactionManager(archive);
        }
    }
}
