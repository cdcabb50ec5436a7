package io.github.holdfast.autoconfigure;

import static io.github.holdfast.autoconfigure.Application.assertThatLocksProtect;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.example.shop.Shop;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import liquibase.exception.LiquibaseException;
import liquibase.integration.spring.SpringLiquibase;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.core.env.Environment;
import org.springframework.core.io.ResourceLoader;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DelegatingDataSource;

/** An application whose own Liquibase runs in the background, as those made by JHipster do in development. */
@ExtendWith(OutputCaptureExtension.class)
class BackgroundLiquibaseTest {

    private static final String LOG_OF_WAITING = "logging.level.io.github.holdfast.autoconfigure=info";

    @TempDir
    private Path directory;

    @Test
    void bothChangelogsAreAppliedInAnEmptyDatabaseAndLater() throws Exception {
        for (int start = 1; start <= 2; start++) {
            // Not validate: the application's table need not be there when Hibernate looks, without locks either.
            try (ConfigurableApplicationContext context = Application.of(ShopInTheBackground.class)
                    .with("spring.datasource.url=jdbc:h2:file:" + directory.resolve("shop"))
                    .with("spring.jpa.hibernate.ddl-auto=none")
                    .run()) {
                context.getBean(InTheBackground.class).ended.get(1, TimeUnit.MINUTES);
                assertThat(context.getBean(JdbcTemplate.class)
                                .queryForList("select distinct author from databasechangelog", String.class))
                        .containsExactlyInAnyOrder("shop", "holdfast");
                if (start == 1) {
                    assertThatLocksProtect(context);
                }
            }
        }
    }

    /** Those that are not told are what Liquibase calls them, where it puts them. */
    @ParameterizedTest
    @CsvSource({
        "true, shop_changes, shop_lock,",
        "true, shop_changes,, archive",
        "false, shop_changes, shop_lock, archive",
    })
    void itIsSeenToEndInTablesOfItsOwn(
            boolean isSynchronous,
            String changes,
            @Nullable String lock,
            @Nullable String schema,
            CapturedOutput output) {
        try (ConfigurableApplicationContext context = Application.of(ShopWithTablesOfItsOwn.class)
                .with("spring.datasource.url=jdbc:h2:mem:" + changes + lock + schema
                        + ";init=create schema if not exists archive")
                .with(LOG_OF_WAITING)
                .with("spring.jpa.hibernate.ddl-auto=none", "synchronous=" + isSynchronous, "changes=" + changes)
                .with(lock == null ? "unused=" : "lock=" + lock, schema == null ? "unused=" : "schema=" + schema)
                .run()) {
            assertThat(context.getBean(JdbcTemplate.class)
                            .queryForList(
                                    "select distinct author from " + (schema == null ? "" : schema + ".") + changes,
                                    String.class))
                    .containsExactly("shop");
        }
        assertThat(output.getOut()).doesNotContain("No longer waiting");
    }

    /** The changelog's tables are elsewhere too. */
    @Test
    void itIsSeenToEndInASchemaOfItsOwn(CapturedOutput output) {
        try (ConfigurableApplicationContext context = Application.of(ShopWithTablesOfItsOwn.class)
                .with("spring.datasource.url=jdbc:h2:mem:elsewhere;init=create schema if not exists archive")
                .with(LOG_OF_WAITING)
                .with("spring.jpa.hibernate.ddl-auto=none", "synchronous=true", "default-schema=archive")
                .run()) {
            assertThat(context.getBean(JdbcTemplate.class)
                            .queryForList("select distinct author from archive.databasechangelog", String.class))
                    .containsExactly("shop");
        }
        assertThat(output.getOut()).doesNotContain("No longer waiting");
    }

    @Test
    @Timeout(300)
    void onePooledConnectionIsEnough() throws Exception {
        try (ConfigurableApplicationContext context = Application.of(ShopWithTablesOfItsOwn.class)
                .with(
                        "spring.datasource.hikari.maximum-pool-size=1",
                        "spring.datasource.hikari.connection-timeout=600000")
                .with("spring.jpa.hibernate.ddl-auto=none", "synchronous=false")
                .run()) {
            context.getBean(InTheBackground.class).ended.get(1, TimeUnit.MINUTES);
            assertThatLocksProtect(context);
        }
    }

    @Test
    void aLockThatNobodyReleasesIsNamed(CapturedOutput output) throws Exception {
        String url = "jdbc:h2:mem:locked";
        try (Connection connection = DriverManager.getConnection(url, "sa", "");
                Statement statement = connection.createStatement()) {
            statement.execute(
                    "create table databasechangeloglock (id int not null primary key, locked boolean not null,"
                            + " lockgranted timestamp, lockedby varchar(255))");
            statement.execute("insert into databasechangeloglock values (1, true, current_timestamp, 'somebody')");
            System.setProperty("liquibase.changelogLockWaitTimeInMinutes", "0");
            System.setProperty("liquibase.changelogLockPollRate", "1");
            try {
                assertThatThrownBy(() -> Application.of(Shop.class)
                        .with("spring.datasource.url=" + url, "spring.jpa.hibernate.ddl-auto=none")
                        .with("spring.liquibase.enabled=false", "holdfast.schema.management=liquibase")
                        .run()
                        .close());
            } finally {
                System.clearProperty("liquibase.changelogLockWaitTimeInMinutes");
                System.clearProperty("liquibase.changelogLockPollRate");
            }
        }
        assertThat(output.getOut())
                .contains("APPLICATION FAILED TO START", "Currently locked by somebody")
                .contains("perhaps the application's own Liquibase in the background", "release-locks")
                .doesNotContain("spring.liquibase.user");
    }

    @Import(Shop.class)
    static class ShopInTheBackground {
        @Bean
        SpringLiquibase liquibase(DataSource dataSource, ResourceLoader resources) {
            InTheBackground liquibase = new InTheBackground();
            liquibase.setDataSource(new Slow(dataSource));
            liquibase.setResourceLoader(resources);
            liquibase.setChangeLog("classpath:com/example/shop/changelog.xml");
            return liquibase;
        }
    }

    /** Names that are not told are null. */
    @Import(Shop.class)
    static class ShopWithTablesOfItsOwn {
        @Bean
        SpringLiquibase liquibase(DataSource dataSource, ResourceLoader resources, Environment told) {
            SpringLiquibase liquibase =
                    told.getRequiredProperty("synchronous", Boolean.class) ? new AtOnce() : new InTheBackground();
            liquibase.setDataSource(new DelegatingDataSource(dataSource));
            liquibase.setResourceLoader(resources);
            liquibase.setChangeLog("classpath:com/example/shop/changelog.xml");
            liquibase.setDatabaseChangeLogTable(told.getProperty("changes"));
            liquibase.setDatabaseChangeLogLockTable(told.getProperty("lock"));
            liquibase.setLiquibaseSchema(told.getProperty("schema"));
            liquibase.setDefaultSchema(told.getProperty("default-schema"));
            return liquibase;
        }
    }

    /** Nobody knows that it is as synchronous as what it extends. */
    static class AtOnce extends SpringLiquibase {}

    static class InTheBackground extends SpringLiquibase {

        private final CompletableFuture<Void> ended = new CompletableFuture<>();

        @Override
        public void afterPropertiesSet() {
            new Thread(this::run, "the application's Liquibase").start();
        }

        private void run() {
            try {
                super.afterPropertiesSet();
                ended.complete(null);
            } catch (LiquibaseException | RuntimeException failed) {
                ended.completeExceptionally(failed);
            }
        }
    }

    /** When it has seen that there is no table of what was applied, it leaves others some time to create it first. */
    static class Slow extends DelegatingDataSource {

        Slow(DataSource target) {
            super(target);
        }

        @Override
        public Connection getConnection() throws SQLException {
            Connection connection = super.getConnection();
            return proxy(
                    Connection.class,
                    connection,
                    (method, result) -> result instanceof Statement statement && method.equals("createStatement")
                            ? proxy(Statement.class, statement, (unused, answer) -> answer)
                            : result);
        }

        private <T> T proxy(Class<T> type, T target, Answer answer) {
            return type.cast(Proxy.newProxyInstance(
                    type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
                        if (arguments != null
                                && arguments.length > 0
                                && String.valueOf(arguments[0]).startsWith("CREATE TABLE PUBLIC.DATABASECHANGELOG ")) {
                            awaitTable();
                        }
                        try {
                            return answer.of(method.getName(), method.invoke(target, arguments));
                        } catch (InvocationTargetException thrown) {
                            throw thrown.getTargetException();
                        }
                    }));
        }

        private void awaitTable() {
            try {
                Awaitility.await().atMost(Duration.ofSeconds(3)).until(() -> {
                    try (Connection connection = super.getConnection();
                            ResultSet tables =
                                    connection.getMetaData().getTables(null, null, "DATABASECHANGELOG", null)) {
                        return tables.next();
                    }
                });
            } catch (ConditionTimeoutException nobodyIsFaster) {
                // As it should be.
            }
        }

        interface Answer {
            @Nullable
            Object of(String method, @Nullable Object result);
        }
    }
}
