package io.github.holdfast.autoconfigure;

import static io.github.holdfast.autoconfigure.Application.assertThatLocksProtect;
import static io.github.holdfast.autoconfigure.ClassPathWithout.Jar.LIQUIBASE;
import static io.github.holdfast.autoconfigure.ClassPathWithout.Jar.SPRING_BOOT_LIQUIBASE;
import static org.assertj.core.api.Assertions.assertThat;

import com.example.shop.Shop;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.util.List;
import java.util.UUID;
import liquibase.integration.spring.SpringLiquibase;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.JdbcTemplate;

/** Whoever creates the tables of the application, those of the locks are created once, and the application's stay its own. */
class LockSchemaTest {

    /** Of those that ship, on H2. */
    private static final int CHANGE_SETS = 9;

    private static final String OF_LOCKS = "where author = 'holdfast'";

    @TempDir
    private Path directory;

    @Test
    void bothChangelogsAreAppliedOnce() throws Exception {
        for (int start = 1; start <= 2; start++) {
            try (ConfigurableApplicationContext context = withFile().run()) {
                assertThat(context.getBeansOfType(SpringLiquibase.class)).hasSize(1);
                assertThat(executed(context, "databasechangelog", "where author = 'shop'"))
                        .containsExactly("EXECUTED");
                assertThat(executed(context, "databasechangelog", OF_LOCKS))
                        .hasSize(CHANGE_SETS)
                        .containsOnly("EXECUTED");
            }
        }
    }

    /** So a start with nothing to do takes less time, and does not wait for Liquibase's lock. */
    @Test
    void liquibaseRunsOnlyIfAChangeSetIsMissing() throws Exception {
        assertThat(runsOfLiquibase()).isEqualTo(1);
        assertThat(runsOfLiquibase()).isZero();
        try (ConfigurableApplicationContext context = withFile().run()) {
            context.getBean(JdbcTemplate.class)
                    .update("delete from databasechangelog where id = 'holdfast-2-lock-node'");
        }
        assertThat(runsOfLiquibase()).isEqualTo(1);
        assertThat(runsOfLiquibase()).isZero();
    }

    private int runsOfLiquibase() throws Exception {
        try (ConfigurableApplicationContext context =
                withFile(Application.of(CountingShop.class)).run()) {
            return context.getBean(Runs.class).count;
        }
    }

    @Configuration(proxyBeanMethods = false)
    @Import({Shop.class, Runs.class})
    static class CountingShop {}

    /** Counts the runs, as what protects each run by a lock would see them. */
    static final class Runs implements BeanPostProcessor {

        private int count;

        @Override
        public Object postProcessBeforeInitialization(Object bean, String name) {
            if (name.equals("holdfastSchemaInitializer") && bean instanceof SpringLiquibase) {
                count++;
            }
            return bean;
        }
    }

    @Test
    void includedByTheApplicationItIsAppliedOnceToo() throws Exception {
        for (int start = 1; start <= 2; start++) {
            try (ConfigurableApplicationContext context = withFile()
                    .with("spring.liquibase.change-log=classpath:com/example/shop/changelog-with-locks.xml")
                    .run()) {
                assertThat(executed(context, "databasechangelog", OF_LOCKS))
                        .hasSize(CHANGE_SETS)
                        .containsOnly("EXECUTED");
            }
        }
    }

    @Test
    void tablesGoWhereTheApplicationsChangelogGoes() throws Exception {
        String url = "jdbc:h2:mem:" + UUID.randomUUID()
                + ";INIT=create schema if not exists shop\\;create schema if not exists history";
        try (ConfigurableApplicationContext context = Application.of(Shop.class)
                .with("spring.datasource.url=" + url, "spring.jpa.properties.hibernate.default_schema=shop")
                .with("spring.liquibase.default-schema=shop", "spring.liquibase.liquibase-schema=history")
                .with("spring.liquibase.database-change-log-table=changes")
                .with("spring.liquibase.database-change-log-lock-table=changes_lock")
                .run()) {
            assertThatLocksProtect(context);
            assertThat(executed(context, "history.changes", OF_LOCKS)).hasSize(CHANGE_SETS);
            assertThat(context.getBean(JdbcTemplate.class)
                            .queryForList(
                                    "select table_name from information_schema.tables where table_schema = 'SHOP'",
                                    String.class))
                    .contains("ORDERS", "DISTRIBUTED_LOCK");
        }
    }

    @Test
    void tablesAreCreatedByWhoMayCreateThem() throws Exception {
        String url = "jdbc:h2:mem:" + UUID.randomUUID();
        try (Connection owner = DriverManager.getConnection(url, "owner", "secret");
                Statement rights = owner.createStatement()) {
            rights.execute(
                    "create user app password 'app'; grant select, insert, update, delete on schema public to app");
            try (ConfigurableApplicationContext context = Application.of(Shop.class)
                    .with("spring.datasource.url=" + url)
                    .with("spring.datasource.username=app", "spring.datasource.password=app")
                    .with("spring.liquibase.user=owner", "spring.liquibase.password=secret")
                    .run()) {
                assertThatLocksProtect(context);
            }
        }
    }

    @Test
    void liquibaseNeedsNoModuleOfSpringBoot() throws Exception {
        try (ConfigurableApplicationContext context = withScript(Application.of(Shop.class))
                .without(SPRING_BOOT_LIQUIBASE)
                .run()) {
            assertThatLocksProtect(context);
            assertThat(executed(context, "databasechangelog", OF_LOCKS)).hasSize(CHANGE_SETS);
        }
    }

    @Test
    void withoutLiquibaseTheSqlIsRun() throws Exception {
        for (int start = 1; start <= 2; start++) {
            try (ConfigurableApplicationContext context = withScript(withFile())
                    .without(LIQUIBASE, SPRING_BOOT_LIQUIBASE)
                    .run()) {
                assertThat(context.getBeansOfType(SpringLiquibase.class)).isEmpty();
                assertThat(context.getBean(JdbcTemplate.class)
                                .queryForObject("select count(*) from distributed_lock", Integer.class))
                        .isNotNull();
            }
        }
    }

    private Application withFile() {
        return withFile(Application.of(Shop.class));
    }

    private Application withFile(Application application) {
        return application.with("spring.datasource.url=jdbc:h2:file:" + directory.resolve("shop"));
    }

    private static Application withScript(Application application) {
        return application.with(
                "spring.sql.init.mode=always",
                "spring.sql.init.schema-locations=classpath:com/example/shop/orders.sql");
    }

    private static List<String> executed(ConfigurableApplicationContext context, String table, String condition) {
        return context.getBean(JdbcTemplate.class)
                .queryForList("select exectype from " + table + " " + condition, String.class);
    }
}
