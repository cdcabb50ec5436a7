package io.github.holdfast.sharding;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.Locks;
import io.github.holdfast.service.LockAdmin;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;

/** A Spring Boot application with the starter, and a second lock service of its own. */
@OnDatabase(TestDatabase.H2_TCP)
class ShardingWithStarterTest {

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Application {

        @Bean
        Nodes nodes() {
            return new Nodes();
        }

        @Bean(defaultCandidate = false)
        @Qualifier("archive")
        LockService archiveLocks(Nodes nodes) {
            return nodes.open(nodes.database(TestDatabase.H2_MEMORY)).locks();
        }
    }

    /** The starter defines no service beside this one. */
    @Configuration(proxyBeanMethods = false)
    static class WithPrimary extends Application {

        @Bean
        @Primary
        LockService orderLocks(Nodes nodes) {
            return nodes.open(nodes.database(TestDatabase.H2_MEMORY)).locks();
        }

        @Bean
        Supplier<Locks> user(Locks locks) {
            return () -> locks;
        }
    }

    @Test
    void aPrimaryServiceIsRefused(Database database) {
        SpringApplicationBuilder application =
                application(WithPrimary.class, database, "holdfast.sharding.hash", "orderLocks,archiveLocks");
        assertThatIllegalStateException()
                .isThrownBy(application::run)
                .withMessageContaining("The LockService bean 'orderLocks' is @Primary")
                .withMessageContaining("defaultCandidate = false");
    }

    private static SpringApplicationBuilder application(Class<?> application, Database database, String... properties) {
        Map<String, Object> all = new HashMap<>(Map.of(
                "spring.main.banner-mode",
                "off",
                "logging.level.root",
                "error",
                "spring.datasource.url",
                database.url(),
                "spring.datasource.username",
                database.user(),
                "spring.datasource.password",
                database.password(),
                "holdfast.schema.management",
                "sql"));
        for (int index = 0; index < properties.length; index += 2) {
            all.put(properties[index], properties[index + 1]);
        }
        return new SpringApplicationBuilder(application)
                .web(WebApplicationType.NONE)
                .registerShutdownHook(false)
                .properties(all);
    }

    @Test
    void shardedLocksHaveBothServicesAndTheStarterClosesThem(Database database) throws Exception {
        ShardedLocks locks;
        try (ConfigurableApplicationContext application = application(
                        Application.class,
                        database,
                        "holdfast.sharding.prefixes.archiveLocks",
                        "archive:",
                        "holdfast.sharding.others",
                        "holdfastLockService")
                .run()) {
            locks = application.getBean(ShardedLocks.class);
            assertThat(application.getBean(Locks.class)).isSameAs(locks);
            assertThat(locks.serviceFor("order:1")).isSameAs(application.getBean(LockService.class));
            assertThat(locks.serviceFor("archive:1")).isSameAs(application.getBean("archiveLocks"));
            try (LockHandle order = locks.acquire(LockRequest.of("order:1").requireFence());
                    LockHandle archived = locks.acquire(LockRequest.of("archive:1"))) {
                assertThat(order.isFenced()).isTrue();
                assertThat(archived.remaining()).isPositive();
                assertThat(application.getBean(LockAdmin.class).held("", 10)).hasSize(1);
                assertThat(locks.held("", 10)).hasSize(2);
            }
        }
        assertThatIllegalStateException().isThrownBy(() -> locks.tryAcquire(LockRequest.of("order:1")));
        assertThatIllegalStateException().isThrownBy(() -> locks.tryAcquire(LockRequest.of("archive:1")));
    }
}
