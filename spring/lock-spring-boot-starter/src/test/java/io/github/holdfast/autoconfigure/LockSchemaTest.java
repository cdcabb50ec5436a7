package io.github.holdfast.autoconfigure;

import static io.github.holdfast.autoconfigure.Application.assertThatLocksProtect;
import static io.github.holdfast.autoconfigure.ClassPathWithout.Jar.LIQUIBASE;
import static io.github.holdfast.autoconfigure.ClassPathWithout.Jar.SPRING_BOOT_LIQUIBASE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.example.archive.Archived;
import com.example.shop.Shop;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LockService;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.util.List;
import java.util.UUID;
import javax.sql.DataSource;
import liquibase.integration.spring.SpringLiquibase;
import org.hibernate.boot.model.naming.Identifier;
import org.hibernate.boot.model.naming.PhysicalNamingStrategyStandardImpl;
import org.hibernate.engine.jdbc.env.spi.JdbcEnvironment;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.liquibase.autoconfigure.LiquibaseConnectionDetails;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.core.env.Environment;
import org.springframework.jdbc.core.JdbcTemplate;

/** Whoever creates the tables of the application, those of the locks are created once, and the application's stay its own. */
class LockSchemaTest {

    /** Of those that ship, on H2. */
    private static final int CHANGE_SETS = 10;

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

    /** With an action for scripts, Hibernate ignores ddl-auto for the database. */
    @Test
    void hibernateThatWritesAScriptCreatesNothing() throws Exception {
        String scripts = "spring.jpa.properties.jakarta.persistence.schema-generation.scripts";
        try (ConfigurableApplicationContext context = Application.of(Shop.class)
                .with("spring.jpa.hibernate.ddl-auto=create-drop", scripts + ".action=create")
                .with(scripts + ".create-target=" + directory.resolve("create.sql"))
                .run()) {
            assertThatLocksProtect(context);
        }
    }

    /** As the contexts do that a test run keeps. */
    @Test
    void anotherContextMayCreateTheTablesAgain() throws Exception {
        Application application = Application.of(Shop.class)
                .with("spring.datasource.url=jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1")
                .with("spring.jpa.hibernate.ddl-auto=create-drop", "spring.liquibase.enabled=false")
                .with("holdfast.node-lease=2s");
        try (ConfigurableApplicationContext first = application.run()) {
            assertThatLocksProtect(first);
            try (ConfigurableApplicationContext second = application.run()) {
                assertThatLocksProtect(second);
                try (LockHandle lock =
                        first.getBean("holdfastLockService", LockService.class).acquire(LockRequest.of("order:2"))) {
                    assertThat(lock.fencingToken()).isPositive();
                }
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
            assertThat(tables(context, "SHOP")).contains("ORDERS", "DISTRIBUTED_LOCK");
        }
    }

    @Test
    void tablesAreCreatedByWhoMayCreateThem() throws Exception {
        assertThatTablesAreCreatedByTheOwner(Application.of(Shop.class)
                .with("spring.liquibase.user=owner", "spring.liquibase.password=secret")
                .with("spring.liquibase.driver-class-name="));
    }

    /** As in a test with Testcontainers and {@code @ServiceConnection}, where the properties are those of production. */
    @Test
    void connectionDetailsTakeThePlaceOfTheProperties() throws Exception {
        assertThatTablesAreCreatedByTheOwner(Application.of(WithConnectionDetails.class)
                .with("spring.liquibase.user=production", "spring.liquibase.password=unknown"));
    }

    private static void assertThatTablesAreCreatedByTheOwner(Application application) throws Exception {
        String url = "jdbc:h2:mem:" + UUID.randomUUID();
        try (Connection owner = DriverManager.getConnection(url, "owner", "secret");
                Statement rights = owner.createStatement()) {
            rights.execute(
                    "create user app password 'app'; grant select, insert, update, delete on schema public to app");
            try (ConfigurableApplicationContext context = application
                    .with("spring.datasource.url=" + url)
                    .with("spring.datasource.username=app", "spring.datasource.password=app")
                    .run()) {
                assertThatLocksProtect(context);
            }
        }
    }

    /** They are those of the application's changelog. The unit is on another data source than the primary one. */
    @Test
    void connectionDetailsOfAnotherDatabaseAreNotUsed() throws Exception {
        try (ConfigurableApplicationContext context = Application.of(LocksInTheArchive.class)
                .with("spring.datasource.url=jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1")
                .with("holdfast.jpa.persistence-unit=archive")
                .run()) {
            assertThatLocksProtect(context, "archive", "archiveTransactions", new Archived(1));
        }
    }

    @Test
    void severalConnectionDetailsAreNotUsed() throws Exception {
        try (ConfigurableApplicationContext context = Application.of(WithSeveralConnectionDetails.class)
                .with("spring.liquibase.enabled=false", "spring.jpa.hibernate.ddl-auto=update")
                .with("holdfast.schema.management=liquibase")
                .run()) {
            assertThatLocksProtect(context);
        }
    }

    @Import(Shop.class)
    static class WithConnectionDetails {
        @Bean
        LiquibaseConnectionDetails ownersConnection() {
            return details(null, "owner", "secret");
        }
    }

    static class WithSeveralConnectionDetails extends WithConnectionDetails {
        @Bean
        LiquibaseConnectionDetails anotherConnection() {
            return details(null, "another", "secret");
        }
    }

    @EnableAutoConfiguration
    static class LocksInTheArchive extends UserStyleTest.TwoUnitsBase {
        @Bean
        DataSource archiveData() {
            return archive(UUID.randomUUID().toString());
        }

        @Bean
        LiquibaseConnectionDetails connectionToOrders(Environment environment) {
            return details(environment.getRequiredProperty("spring.datasource.url"), null, null);
        }
    }

    private static LiquibaseConnectionDetails details(
            @Nullable String url, @Nullable String user, @Nullable String password) {
        return new LiquibaseConnectionDetails() {
            @Override
            public @Nullable String getUsername() {
                return user;
            }

            @Override
            public @Nullable String getPassword() {
                return password;
            }

            @Override
            public @Nullable String getJdbcUrl() {
                return url;
            }
        };
    }

    @ParameterizedTest
    @CsvSource({"liquibase, 1", "sql, 0"})
    void tablesHaveTheNamesOfTheMapping(String management, int changelogs) throws Exception {
        try (ConfigurableApplicationContext context = Application.of(Shop.class)
                .with("holdfast.schema.management=" + management)
                .with("spring.jpa.hibernate.naming.physical-strategy=" + WithSuffix.class.getName())
                .run()) {
            assertThatLocksProtect(context);
            assertThat(tables(context, "PUBLIC"))
                    .contains("DISTRIBUTED_LOCK_APP", "LOCK_NODE_APP", "LOCK_WAITER_APP")
                    .doesNotContain("DISTRIBUTED_LOCK");
            assertThat(executed(context, "databasechangelog", OF_LOCKS)).hasSize(changelogs * CHANGE_SETS);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"liquibase", "sql"})
    void tablesAreInTheSchemaOfTheMapping(String management) throws Exception {
        try (ConfigurableApplicationContext context =
                withSchema().with("holdfast.schema.management=" + management).run()) {
            assertThatLocksProtect(context);
            assertThat(tables(context, "APP")).contains("DISTRIBUTED_LOCK").doesNotContain("DATABASECHANGELOG");
            assertThat(tables(context, "PUBLIC")).contains("DATABASECHANGELOG").doesNotContain("DISTRIBUTED_LOCK");
        }
    }

    /** The application's own table is in the schema, too. */
    static Application withSchema() {
        return Application.of(Shop.class)
                .with(
                        "spring.datasource.url=jdbc:h2:mem:" + UUID.randomUUID()
                                + ";INIT=create schema if not exists app\\;create table if not exists app.orders(id bigint not null primary key)")
                .with("spring.jpa.properties.hibernate.default_schema=app");
    }

    @Test
    void changelogGivesWayWhereItCannotFollow() throws Exception {
        try (ConfigurableApplicationContext context = Application.of(Shop.class)
                .with("spring.jpa.properties.hibernate.globally_quoted_identifiers=true")
                .with("spring.jpa.hibernate.ddl-auto=update")
                .run()) {
            assertThatLocksProtect(context);
            assertThat(tables(context, "PUBLIC")).contains("distributed_lock").doesNotContain("DISTRIBUTED_LOCK");
            assertThat(executed(context, "databasechangelog", OF_LOCKS)).isEmpty();
        }
    }

    @Test
    void scriptIsWrittenForMigrations() throws Exception {
        Path script = directory.resolve("V1__holdfast.sql");
        Application application = withFile()
                .with("spring.jpa.hibernate.naming.physical-strategy=" + WithSuffix.class.getName())
                .with("holdfast.schema.management=validate", "holdfast.schema.script=" + script);
        assertThatThrownBy(application::run).hasStackTraceContaining("distributed_lock_app");
        try (Connection connection = DriverManager.getConnection("jdbc:h2:file:" + directory.resolve("shop"));
                Statement migration = connection.createStatement()) {
            migration.execute(Files.readString(script));
        }
        try (ConfigurableApplicationContext context = application.run()) {
            assertThatLocksProtect(context);
        }
        Files.writeString(script, "-- changed by hand");
        assertThatThrownBy(application::run).hasStackTraceContaining("exists and has other content");
        assertThat(script).content().isEqualTo("-- changed by hand");
    }

    /** A name that is not a path, a file that is not text, and a directory that is missing. */
    @Test
    void scriptThatCannotBeReadOrWrittenIsNamed() throws Exception {
        Path binary = Files.write(directory.resolve("binary.sql"), new byte[] {(byte) 0xff});
        String missing = directory.resolve("missing/V1.sql").toString();
        for (String script : List.of("V1\0.sql", binary.toString(), missing)) {
            assertThatThrownBy(withFile().with("holdfast.schema.script=" + script)::run)
                    .hasStackTraceContaining("The file of holdfast.schema.script cannot be read or written: ");
        }
    }

    @Test
    void propertyThatDoesNotReachTheUnitDecidesNothing() throws Exception {
        try (ConfigurableApplicationContext context = Application.of(UserStyleTest.OwnFactoryByHand.class)
                .with("spring.jpa.hibernate.ddl-auto=create")
                .run()) {
            assertThatLocksProtect(context);
            assertThat(executed(context, "databasechangelog", OF_LOCKS)).hasSize(CHANGE_SETS);
        }
    }

    /** Hibernate builds it in another thread, while the main one creates other beans. */
    @ParameterizedTest
    @ValueSource(strings = {"liquibase", "sql"})
    void unitMayBeBuiltInTheBackground(String management) throws Exception {
        try (ConfigurableApplicationContext context = Application.of(Shop.class)
                .with("spring.data.jpa.repositories.bootstrap-mode=deferred")
                .with("holdfast.schema.management=" + management)
                .run()) {
            assertThatLocksProtect(context);
        }
    }

    @Test
    void updateByHibernateNeedsNoMigrations() throws Exception {
        try (ConfigurableApplicationContext context = Application.of(Shop.class)
                .with("spring.liquibase.enabled=false", "spring.jpa.hibernate.ddl-auto=update")
                .run()) {
            assertThatLocksProtect(context);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"create-drop", "update"})
    void scriptsMayRunAfterHibernate(String ddlAuto) throws Exception {
        try (ConfigurableApplicationContext context = Application.of(Shop.class)
                .with("spring.liquibase.enabled=false", "spring.jpa.hibernate.ddl-auto=" + ddlAuto)
                .with("spring.jpa.defer-datasource-initialization=true", "spring.sql.init.mode=always")
                .with("spring.sql.init.data-locations=classpath:com/example/shop/first-order.sql")
                .run()) {
            assertThatLocksProtect(context);
            assertThat(context.getBean(JdbcTemplate.class).queryForList("select id from orders", Long.class))
                    .contains(7L);
        }
    }

    private static List<String> tables(ConfigurableApplicationContext context, String schema) {
        return context.getBean(JdbcTemplate.class)
                .queryForList(
                        "select table_name from information_schema.tables where table_schema = ?",
                        String.class,
                        schema);
    }

    /** Leaves the tables of the application alone. */
    public static final class WithSuffix extends PhysicalNamingStrategyStandardImpl {

        private static final long serialVersionUID = 1L;

        @Override
        public Identifier toPhysicalTableName(Identifier logical, JdbcEnvironment environment) {
            String name = logical.getText();
            return name.contains("lock")
                    ? new Identifier(name + "_app", logical.isQuoted())
                    : super.toPhysicalTableName(logical, environment);
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
