package io.github.holdfast.liquibase;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import java.io.InputStream;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import liquibase.integration.spring.SpringLiquibase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.jdbc.core.JdbcTemplate;

/** Applications with Spring Boot, with the starter and Liquibase. */
@OnDatabase(TestDatabase.POSTGRESQL)
class LiquibaseSpringBootTest {

    private Database database;

    @BeforeEach
    void emptyDatabase(Database injected) {
        database = injected;
        database.execute(
                "drop table if exists distributed_lock, lock_node, lock_audit, lock_run, lock_holder, lock_waiter,"
                        + " step, DATABASECHANGELOG, DATABASECHANGELOGLOCK");
    }

    @AfterEach
    void noPause() {
        Pause.inTheMiddle(null);
    }

    @Test
    void bothTheApplicationsChangelogAndThatOfTheLocksRunUnderTheLock() throws Exception {
        try (ConfigurableApplicationContext context = start(Application.class)) {
            JdbcTemplate jdbc = context.getBean(JdbcTemplate.class);
            assertThat(jdbc.queryForList("select distinct author from databasechangelog", String.class))
                    .containsExactlyInAnyOrder("test", "holdfast");
            assertThat(exists(jdbc, "databasechangeloglock")).isFalse();
            LockService locks = context.getBean(LockService.class);
            assertThat(locks.find("liquibase:public")).isEmpty();
            assertThat(locks.tryAcquire(LockRequest.of("liquibase:public"))).isPresent();
        }
        // When nothing is left to do, a start takes no lock, not even one that is held.
        database.execute("update distributed_lock set owner = 'x', hold_count = 1, node_id = null, expires_at = null"
                + " where name = 'liquibase:public'");
        start(Application.class).close();
    }

    @Test
    void thePropertiesAreThoseOfTheLock() {
        List<LiquibaseLockRow.Seen> seen = new ArrayList<>();
        Pause.inTheMiddle(running -> seen.add(
                LiquibaseLock.on(database.dataSource()).row("liquibase:public").readOrCreate()));
        start(Application.class, "holdfast.liquibase.lease=2m", "spring.application.name=shop")
                .close();
        assertThat(seen.get(0).untilFree()).isBetween(Duration.ofSeconds(90), Duration.ofMinutes(2));
        assertThat(seen.get(0).holder())
                .startsWith("shop:" + ProcessHandle.current().pid() + "@");
    }

    @Test
    void withoutItLiquibaseHasItsOwnLock() {
        for (String off : List.of("holdfast.liquibase.enabled=false", "holdfast.enabled=false")) {
            emptyDatabase(database);
            try (ConfigurableApplicationContext context = start(Application.class, off)) {
                assertThat(exists(context.getBean(JdbcTemplate.class), "databasechangeloglock"))
                        .isTrue();
                assertThat(context.getBeansOfType(SpringLiquibaseProtector.class))
                        .isEmpty();
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"holdfast.liquibase.lease, 10ms", "holdfast.clock-tolerance, -1s", "holdfast.clock-tolerance, 2m"})
    void aDurationOutOfRangeIsRefusedByName(String property, String value) {
        assertThatThrownBy(() -> start(Application.class, property + "=" + value))
                .rootCause()
                .isInstanceOfSatisfying(
                        InvalidConfigurationPropertyValueException.class,
                        refused -> assertThat(refused.getName()).isEqualTo(property));
    }

    @Test
    void aCustomizerOfTheApplicationIsCalledToo() {
        CustomizedApplication.CALLS.clear();
        start(CustomizedApplication.class).close();
        assertThat(CustomizedApplication.CALLS).contains("liquibase");
    }

    @Test
    void otherLocksOfTheApplicationAreInTheSameTable() throws Exception {
        try (ConfigurableApplicationContext context = start(Application.class);
                Run run = Run.under(LiquibaseLock.on(database.dataSource()), database.dataSource())) {
            run.lock().waitForLock();
            LockService locks = context.getBean(LockService.class);
            assertThat(locks.admin().held("", 10)).extracting(LockInfo::name).containsExactly("liquibase:public");
            run.lock().releaseLock();
        }
    }

    @Test
    void editorsKnowTheProperties() throws Exception {
        List<String> all = new ArrayList<>();
        for (URL url : Collections.list(LiquibaseSpringBootTest.class
                .getClassLoader()
                .getResources("META-INF/spring-configuration-metadata.json"))) {
            try (InputStream file = url.openStream()) {
                all.add(new String(file.readAllBytes(), StandardCharsets.UTF_8));
            }
        }
        assertThat(all)
                .anySatisfy(text -> assertThat(text)
                        .contains("\"holdfast.liquibase.enabled\"")
                        .contains("\"holdfast.liquibase.lease\"")
                        .contains("\"defaultValue\": \"60s\"")
                        .contains("how long the lock outlives its process"));
    }

    private ConfigurableApplicationContext start(Class<?> application, String... properties) {
        List<String> all = new ArrayList<>(List.of(
                "spring.main.banner-mode=off",
                "logging.level.root=error",
                "spring.datasource.url=" + database.url(),
                "spring.datasource.username=" + database.user(),
                "spring.datasource.password=" + database.password(),
                "spring.jpa.hibernate.ddl-auto=none",
                "spring.jpa.open-in-view=false",
                "spring.liquibase.change-log=classpath:changelog/steps.xml"));
        all.addAll(Arrays.asList(properties));
        return new SpringApplicationBuilder(application)
                .web(WebApplicationType.NONE)
                .registerShutdownHook(false)
                .properties(all.toArray(String[]::new))
                .run();
    }

    private static boolean exists(JdbcTemplate jdbc, String table) {
        return Objects.requireNonNull(jdbc.queryForObject(
                        "select count(*) from information_schema.tables where table_name = ?", Long.class, table))
                > 0;
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Application {}

    /** Has a customizer of its own for Liquibase. */
    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class CustomizedApplication {

        static final List<String> CALLS = new ArrayList<>();

        @Bean
        static BeanPostProcessor ownCustomizer() {
            return new OwnCustomizer();
        }
    }

    private static final class OwnCustomizer implements BeanPostProcessor, Ordered {

        @Override
        public Object postProcessBeforeInitialization(Object bean, String name) {
            if (bean instanceof SpringLiquibase liquibase) {
                liquibase.setCustomizer(run -> CustomizedApplication.CALLS.add(name));
            }
            return bean;
        }

        /** Before those without an order. */
        @Override
        public int getOrder() {
            return 0;
        }
    }
}
