package io.github.holdfast.autoconfigure;

import static io.github.holdfast.autoconfigure.Application.assertThatLocksProtect;
import static org.assertj.core.api.Assertions.assertThat;

import com.example.shop.Order;
import io.github.holdfast.test.CountingDataSource;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import javax.sql.DataSource;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
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
