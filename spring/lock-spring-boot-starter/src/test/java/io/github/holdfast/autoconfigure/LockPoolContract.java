package io.github.holdfast.autoconfigure;

import static io.github.holdfast.autoconfigure.Application.assertThatLocksProtect;
import static org.assertj.core.api.Assertions.assertThat;

import com.example.shop.Shop;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import java.sql.Connection;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.springframework.context.ConfigurableApplicationContext;

/** An application whose lock operations have connections of their own; its changelog and that of the locks have run. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class LockPoolContract {

    private ConfigurableApplicationContext context;

    @BeforeAll
    void start(Database database) {
        context = Application.of(Shop.class)
                .with("spring.datasource.url=" + database.url())
                .with("spring.datasource.username=" + database.user())
                .with("spring.datasource.password=" + database.password())
                .with("spring.datasource.hikari.maximum-pool-size=2")
                .with("spring.datasource.hikari.auto-commit=false")
                .with("spring.jpa.properties.hibernate.connection.provider_disables_autocommit=true")
                .with("holdfast.datasource.maximum-pool-size=3", "holdfast.datasource.connection-timeout=10s")
                .run();
    }

    @AfterAll
    void stop() {
        context.close();
    }

    @Test
    void locksAreHadWhileTheApplicationHasNoConnectionLeft() throws Exception {
        assertThatLocksProtect(context);
        DataSource applications = context.getBean(DataSource.class);
        LockService locks = context.getBean(LockService.class);
        try (Connection first = applications.getConnection();
                Connection second = applications.getConnection();
                LockHandle lock = locks.acquire(LockRequest.of("order:2"))) {
            assertThat(first).isNotSameAs(second);
            assertThat(lock.fencingToken()).isPositive();
        }
    }

    @Test
    void thePoolIsTheApplicationsOnceMoreButSmall() {
        HikariDataSource pool = context.getBean(LockPool.class).dataSource();

        assertThat(pool.getPoolName()).isEqualTo("holdfast");
        assertThat(pool.getMaximumPoolSize()).isEqualTo(3);
        assertThat(pool.getConnectionTimeout()).isEqualTo(10_000);
        assertThat(pool.isAutoCommit()).isFalse();
        assertThat(context.getBeansOfType(DataSource.class).values()).doesNotContain(pool);
    }
}
