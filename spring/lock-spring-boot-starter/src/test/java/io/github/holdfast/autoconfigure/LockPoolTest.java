package io.github.holdfast.autoconfigure;

import static io.github.holdfast.autoconfigure.Application.assertThatLocksProtect;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.example.shop.Order;
import com.example.shop.Shop;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.jdbc.CountingDataSource;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import java.sql.Connection;
import java.sql.DriverManager;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import javax.sql.DataSource;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.autoconfigure.AutoConfigurationPackage;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/** {@link LockPoolContract} where connections are to a server, and a pool of the application's own. */
class LockPoolTest {

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends LockPoolContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    @Tag("other-database")
    class OnMySql extends LockPoolContract {}

    @Test
    void aBeanTakesPrecedence() throws Exception {
        try (ConfigurableApplicationContext context = Application.of(OwnPool.class)
                .with("holdfast.datasource.maximum-pool-size=2")
                .run()) {
            assertThat(context.getBeanNamesForType(DataSource.class))
                    .containsExactlyInAnyOrder("dataSource", "lockPool");
            assertThatLocksProtect(context);
            assertThat(context.getBean("lockPool", CountingDataSource.class).connections())
                    .isPositive();
        }
    }

    @Test
    void theLocksFollowAPasswordThatIsRotated() throws Exception {
        String url = "jdbc:h2:mem:" + UUID.randomUUID();
        try (Connection owner = DriverManager.getConnection(url, "owner", "first");
                ConfigurableApplicationContext context = Application.of(Shop.class)
                        .with("spring.datasource.url=" + url)
                        .with("spring.datasource.username=owner", "spring.datasource.password=first")
                        .with("holdfast.datasource.maximum-pool-size=2")
                        .run()) {
            owner.createStatement().execute("alter user owner set password 'second'");
            context.getBean(HikariDataSource.class).setPassword("second");
            context.getBean(LockPool.class).dataSource().getHikariPoolMXBean().softEvictConnections();
            assertThatLocksProtect(context);
        }
    }

    /** As from {@code ${LOCK_DB_PASSWORD:}}, without the variable. */
    @ParameterizedTest
    @CsvSource({"holdfast.datasource.maximum-pool-size=2, 1", "holdfast.datasource.url=, 0"})
    void blankCredentialsAreNotSet(String property, int pools) throws Exception {
        String url = "jdbc:h2:mem:" + UUID.randomUUID();
        try (Connection owner = DriverManager.getConnection(url, "owner", "secret");
                ConfigurableApplicationContext context = Application.of(Shop.class)
                        .with("spring.datasource.url=" + url)
                        .with("spring.datasource.username=owner", "spring.datasource.password=secret")
                        .with("holdfast.datasource.url=", "holdfast.datasource.username=")
                        .with("holdfast.datasource.password=", property)
                        .run()) {
            assertThat(owner.isValid(1)).isTrue();
            assertThatLocksProtect(context);
            assertThat(context.getBeansOfType(LockPool.class)).hasSize(pools);
        }
    }

    /** Open-in-view lets a web request keep its connection from the first read to the end. */
    @Test
    void webRequestsThatKeepTheConnectionsAreNamed() {
        try (ConfigurableApplicationContext context = Application.of(Shop.class)
                .with(
                        "spring.datasource.hikari.maximum-pool-size=2",
                        "spring.datasource.hikari.connection-timeout=1000")
                .run()) {
            EntityManagerFactory unit = context.getBean(EntityManagerFactory.class);
            LockService locks = context.getBean(LockService.class);
            List<EntityManager> requests = List.of(unit.createEntityManager(), unit.createEntityManager());
            try {
                requests.forEach(request -> request.find(Order.class, 1L));
                assertThatThrownBy(() -> locks.acquire(LockRequest.of("order:1").waitAtMost(Duration.ofSeconds(1))))
                        .hasMessageContaining("open-in-view");
            } finally {
                requests.forEach(EntityManager::close);
            }
        }
    }

    @EnableAutoConfiguration
    @AutoConfigurationPackage(basePackageClasses = Order.class)
    static class OwnPool {
        @Bean(defaultCandidate = false)
        @LockDataSource
        CountingDataSource lockPool(Environment environment) {
            return new CountingDataSource(
                    new DriverManagerDataSource(environment.getRequiredProperty("spring.datasource.url"), "sa", ""));
        }
    }
}
