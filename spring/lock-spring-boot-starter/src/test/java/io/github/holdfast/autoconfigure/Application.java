package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import com.example.shop.Order;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LockAdmin;
import io.github.holdfast.service.LockService;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.io.DefaultResourceLoader;
import org.springframework.orm.jpa.SharedEntityManagerCreator;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/** A Spring Boot application of this JVM, on a database of its own unless told otherwise, whose schema Hibernate only validates. */
public final class Application {

    private final Class<?> configuration;
    private final Map<String, Object> properties = new TreeMap<>(Map.of(
            "spring.main.banner-mode", "off",
            "logging.level.root", "warn",
            "spring.datasource.url", "jdbc:h2:mem:" + UUID.randomUUID(),
            "spring.jpa.hibernate.ddl-auto", "validate",
            "spring.jpa.open-in-view", "false",
            "spring.liquibase.change-log", "classpath:com/example/shop/changelog.xml"));

    private ClassLoader classLoader = Application.class.getClassLoader();

    private Application(Class<?> configuration) {
        this.configuration = configuration;
    }

    public static Application of(Class<?> configuration) {
        return new Application(configuration);
    }

    /** With another property, {@code name=value}. */
    public Application with(String... pairs) {
        for (String pair : pairs) {
            int equals = pair.indexOf('=');
            properties.put(pair.substring(0, equals), pair.substring(equals + 1));
        }
        return this;
    }

    Application without(String property) {
        properties.remove(property);
        return this;
    }

    Application without(ClassPathWithout.Jar... jars) {
        classLoader = new ClassPathWithout(jars);
        return this;
    }

    /** With classes that the class path of the tests does not have. */
    Application in(ClassLoader loader) {
        classLoader = loader;
        return this;
    }

    public ConfigurableApplicationContext run() {
        SpringApplication application = new SpringApplicationBuilder(
                        new DefaultResourceLoader(classLoader), configuration)
                .web(WebApplicationType.NONE)
                .registerShutdownHook(false)
                .build();
        application.setDefaultProperties(properties);
        return application.run();
    }

    /** Checks that the application works, and that its transactions commit under a lock only. */
    static void assertThatLocksProtect(ConfigurableApplicationContext context) throws InterruptedException {
        assertThatLocksProtect(context, "entityManagerFactory", "transactionManager", new Order(1));
    }

    static void assertThatLocksProtect(
            ConfigurableApplicationContext context, String unit, String transactionManager, Object entity)
            throws InterruptedException {
        LockService locks = context.getBean("holdfastLockService", LockService.class);
        EntityManager entityManager =
                SharedEntityManagerCreator.createSharedEntityManager(context.getBean(unit, EntityManagerFactory.class));
        TransactionTemplate transaction =
                new TransactionTemplate(context.getBean(transactionManager, PlatformTransactionManager.class));
        try (LockHandle lock = locks.acquire(LockRequest.of("order:1").requireFence())) {
            transaction.executeWithoutResult(status -> {
                entityManager.persist(entity);
                assertThat(lock.isFenced()).isTrue();
            });
            assertThat(locks.find("order:1")).isPresent();
        }
        assertThat(context.getBean(LockAdmin.class).held("", 10)).isEmpty();
        assertThat(entityManager.find(entity.getClass(), 1L)).isNotNull();
    }
}
