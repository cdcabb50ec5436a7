package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.example.shop.Order;
import com.example.shop.Shop;
import io.github.holdfast.annotation.Locked;
import io.github.holdfast.annotation.ScheduledLock;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.test.sources.JavaSources;
import jakarta.transaction.Status;
import jakarta.transaction.TransactionManager;
import jakarta.transaction.UserTransaction;
import java.lang.reflect.Proxy;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Map;
import java.util.UUID;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.SpringBootVersion;
import org.springframework.boot.autoconfigure.AutoConfigurationPackage;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.datasource.AbstractDataSource;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.jta.JtaTransactionManager;

/** What is printed when an application is not set up for locks names the line that helps. */
@ExtendWith(OutputCaptureExtension.class)
class FailureTest {

    private static String reportOf(Application application, CapturedOutput output) {
        assertThatThrownBy(() -> application.run().close());
        assertThat(output).contains("APPLICATION FAILED TO START");
        return output.getOut();
    }

    @Test
    void unitMadeByHandWithoutTheEntities(CapturedOutput output) {
        assertThat(reportOf(Application.of(UnitByHand.class), output))
                .contains("The persistence unit 'default' lacks the entities of the locks")
                .contains("factory.setMappingResources(\"META-INF/holdfast-orm.xml\");");
    }

    @Test
    void severalUnitsWithoutAChoice(CapturedOutput output) {
        assertThat(reportOf(Application.of(UserStyleTest.TwoUnits.class), output))
                .contains("'orders' (bean orders)", "'archive' (bean archive)")
                .contains("    holdfast.jpa.persistence-unit=orders\n    holdfast.jpa.persistence-unit=archive\n");
    }

    @Test
    void unitThatIsNotThere(CapturedOutput output) {
        assertThat(reportOf(Application.of(Shop.class).with("holdfast.jpa.persistence-unit=shop"), output))
                .contains("the persistence unit 'shop'", "'default' (bean entityManagerFactory)")
                .contains("    holdfast.jpa.persistence-unit=default\n");
    }

    @Test
    void jtaUnit(CapturedOutput output) {
        assertThat(reportOf(Application.of(JtaUnit.class), output))
                .contains("Locks need resource-local transactions, but the persistence unit 'default' uses JTA")
                .contains("    holdfast.jpa.own-unit=true\n", "    holdfast.datasource.url=<JDBC URL>\n")
                .contains("    spring.jta.enabled=false\n");
    }

    @Test
    void jtaTransactionManager(CapturedOutput output) {
        assertThat(reportOf(Application.of(JtaTransactions.class), output))
                .contains("Locks need resource-local transactions, but the transaction manager is a")
                .contains("    holdfast.jpa.own-unit=true\n", "    spring.jta.enabled=false\n");
    }

    @Test
    void unitWithTenants(CapturedOutput output) {
        assertThat(reportOf(Application.of(OwnUnitTest.Tenants.class), output))
                .contains("The persistence unit 'default' has a schema or database for each tenant")
                .contains("    holdfast.jpa.own-unit=true\n", "    holdfast.datasource.url=<JDBC URL>\n");
    }

    @Test
    void lockPoolOfOneOfTwoDatabases(CapturedOutput output) {
        assertThat(reportOf(
                        Application.of(TwoDataSources.class)
                                .with("holdfast.datasource.maximum-pool-size=2", "spring.liquibase.enabled=false"),
                        output))
                .contains("several and no primary one")
                .contains("    holdfast.datasource.url=<JDBC URL of the same database>\n", "@LockDataSource");
    }

    @Test
    void flywayWithoutTheModuleThatRunsIt(@TempDir Path directory, CapturedOutput output) throws Exception {
        assumeTrue(SpringBootVersion.getVersion().startsWith("4."), "Spring Boot 3 has no modules");
        JavaSources.in(directory.resolve("sources"))
                .file("Flyway", "package org.flywaydb.core; public class Flyway {}")
                .compile(directory.resolve("classes"), System.getProperty("java.class.path"));
        try (URLClassLoader loader = new URLClassLoader(
                new URL[] {directory.resolve("classes").toUri().toURL()},
                new ClassPathWithout(ClassPathWithout.Jar.LIQUIBASE, ClassPathWithout.Jar.SPRING_BOOT_LIQUIBASE))) {
            assertThat(reportOf(
                            Application.of(Shop.class)
                                    .with("spring.jpa.hibernate.ddl-auto=none")
                                    .in(loader),
                            output))
                    .contains("these tables are missing", "org.springframework.boot:spring-boot-flyway, is missing");
        }
    }

    @Test
    void ownUnitWithoutConnections(CapturedOutput output) {
        assertThat(reportOf(Application.of(Shop.class).with("holdfast.jpa.own-unit=true"), output))
                .contains("holdfast.jpa.own-unit is set, and the locks have no connections of their own")
                .contains("    holdfast.datasource.maximum-pool-size=", "    holdfast.datasource.url=<JDBC URL>\n");
    }

    @ParameterizedTest
    @CsvSource({
        "validate, validate, these tables are missing: distributed_lock",
        "none, validate, these tables are missing: distributed_lock",
        "none, none, 'lock_holder, lock_waiter is missing, or lacks a column'"
    })
    void tablesThatAreMissing(String management, String ddlAuto, String problem, CapturedOutput output) {
        assertThat(reportOf(
                        Application.of(Shop.class)
                                .with("holdfast.schema.management=" + management)
                                .with("spring.jpa.hibernate.ddl-auto=" + ddlAuto),
                        output))
                .contains(problem)
                .contains("They were not created, because holdfast.schema.management is " + management)
                .contains("    holdfast.schema.management=sql\n")
                .contains("    holdfast.schema.script=<file>\n", "LockSchema.script(entityManagerFactory)");
    }

    @Test
    void disabledLiquibaseLeavesTheTablesToOthers(CapturedOutput output) {
        assertThat(reportOf(Application.of(Shop.class).with("spring.liquibase.enabled=false"), output))
                .contains("these tables are missing: distributed_lock")
                .contains("because spring.liquibase.enabled is false")
                .contains("    holdfast.schema.management=sql\n");
    }

    @Test
    void columnThatIsMissing(@TempDir Path directory, CapturedOutput output) throws SQLException {
        String url = "jdbc:h2:file:" + directory.resolve("shop");
        LockSchema.on(new DriverManagerDataSource(url)).createIfMissing();
        try (Connection connection = DriverManager.getConnection(url)) {
            connection.createStatement().execute("alter table lock_node drop column waits_until");
        }
        assertThat(reportOf(
                        Application.of(Shop.class)
                                .with("spring.datasource.url=" + url, "spring.datasource.username=")
                                .with("holdfast.schema.management=sql"),
                        output))
                .contains("Hibernate could not validate the lock tables", "waits_until")
                .contains("of another version")
                .doesNotContain("holdfast.schema.management=sql");
    }

    @Test
    void databaseThatIsDown(CapturedOutput output) {
        assertThat(reportOf(
                        Application.of(Shop.class)
                                .with("spring.datasource.url=jdbc:postgresql://localhost:1/shop")
                                .with("spring.datasource.hikari.connection-timeout=250")
                                .with("spring.liquibase.enabled=false"),
                        output))
                .contains("The database of the locks cannot be reached: ", "Connection refused")
                .contains("    spring.datasource.url=<JDBC URL>")
                .doesNotContain("holdfast.schema.management");
    }

    @Test
    void passwordThatIsWrong(@TempDir Path directory, CapturedOutput output) throws SQLException {
        String url = "jdbc:h2:file:" + directory.resolve("shop");
        DriverManager.getConnection(url, "owner", "secret").close();
        assertThat(reportOf(
                        Application.of(Shop.class)
                                .with("spring.datasource.url=" + url, "spring.datasource.username=owner")
                                .with("spring.datasource.password=wrong", "spring.liquibase.enabled=false"),
                        output))
                .contains("Wrong user name or password")
                .contains("    spring.datasource.username=<user>\n    spring.datasource.password=<password>")
                .doesNotContain("holdfast.schema.management");
    }

    @Test
    void passwordOfTheLockPoolThatIsWrong(@TempDir Path directory, CapturedOutput output) {
        assertThat(reportOf(
                        Application.of(Shop.class)
                                .with("spring.datasource.url=jdbc:h2:file:" + directory.resolve("shop"))
                                .with("holdfast.datasource.password=wrong"),
                        output))
                .contains("Wrong user name or password")
                .contains("    holdfast.datasource.username=<user>\n    holdfast.datasource.password=<password>");
    }

    @Test
    void rightToCreateThatIsMissing(CapturedOutput output) throws SQLException {
        String url = "jdbc:h2:mem:" + UUID.randomUUID();
        try (Connection owner = DriverManager.getConnection(url, "owner", "secret")) {
            owner.createStatement().execute("create user app password 'app'");
            assertThat(reportOf(
                            Application.of(Shop.class)
                                    .with("spring.datasource.url=" + url)
                                    .with("spring.datasource.username=app", "spring.datasource.password=app")
                                    .with("spring.liquibase.enabled=false", "holdfast.schema.management=sql"),
                            output))
                    .contains("Table distributed_lock is missing", "could not be created: Not enough rights")
                    .contains("    holdfast.schema.management=validate\n", "    holdfast.schema.script=<file>\n")
                    .doesNotContain("management=sql");
        }
    }

    @Test
    void tablesInAnotherSchema(CapturedOutput output) {
        assertThat(reportOf(
                        LockSchemaTest.withSchema()
                                .with("spring.liquibase.change-log=classpath:com/example/shop/changelog-with-locks.xml")
                                .with("holdfast.schema.management=validate"),
                        output))
                .contains("app.distributed_lock", "A table distributed_lock is in PUBLIC", "looks for it in app")
                .contains("    spring.jpa.properties.hibernate.default_schema=<schema>\n")
                .doesNotContain("management=sql");
    }

    @Test
    void dialectOfAnotherDatabase(CapturedOutput output) {
        assertThat(reportOf(
                        Application.of(Shop.class)
                                .with("spring.datasource.url=jdbc:h2:mem:" + UUID.randomUUID() + ";MODE=MySQL")
                                .with("spring.jpa.database-platform=org.hibernate.dialect.MySQLDialect")
                                .with("spring.jpa.hibernate.ddl-auto=none"),
                        output))
                .contains("has the dialect org.hibernate.dialect.MySQLDialect, which is for MySQL", "lead to H2 2.")
                .contains("    spring.jpa.database-platform=<class of its dialect>");
    }

    @Test
    void namesThatAreEqualForTheDatabase(@TempDir Path directory, CapturedOutput output) throws SQLException {
        String url = "jdbc:h2:file:" + directory.resolve("shop");
        LockSchema.on(new DriverManagerDataSource(url)).createIfMissing();
        try (Connection connection = DriverManager.getConnection(url)) {
            connection
                    .createStatement()
                    .execute("alter table distributed_lock alter column name varchar_ignorecase(255) not null");
        }
        assertThat(reportOf(
                        Application.of(Shop.class)
                                .with("spring.datasource.url=" + url, "spring.datasource.username=")
                                .with("holdfast.schema.management=sql", "spring.jpa.hibernate.ddl-auto=none"),
                        output))
                .contains("different names would be one lock: the column distributed_lock.name needs")
                .contains("drop the lock tables: the starter creates them again")
                .doesNotContain("management=sql");
    }

    @Test
    void liquibaseThatIsNotThere(CapturedOutput output) {
        assertThat(reportOf(
                        Application.of(Shop.class)
                                .with("holdfast.schema.management=liquibase")
                                .without(ClassPathWithout.Jar.values()),
                        output))
                .contains("Liquibase is not on the class path")
                .contains("    holdfast.schema.management=sql\n");
    }

    @Test
    void connectionsThatAreReadOnly(@TempDir Path directory, CapturedOutput output) {
        String url = "jdbc:h2:file:" + directory.resolve("shop");
        LockSchema.on(new DriverManagerDataSource(url)).createIfMissing();

        assertThat(reportOf(
                        Application.of(Shop.class)
                                .with("spring.datasource.url=" + url + ";ACCESS_MODE_DATA=r")
                                .with("spring.liquibase.enabled=false", "spring.jpa.hibernate.ddl-auto=none"),
                        output))
                .contains("The data source provides read-only connections")
                .contains("    spring.datasource.hikari.read-only=false\n");
    }

    @Test
    void lockPoolOnAnotherDatabase(CapturedOutput output) {
        assertThat(reportOf(
                        Application.of(Shop.class)
                                .with("holdfast.schema.management=sql")
                                .with("holdfast.datasource.url=jdbc:h2:mem:elsewhere"),
                        output))
                .contains("lead to another database or schema than the persistence unit: ", "these tables are missing")
                .contains("    holdfast.datasource.url=<JDBC URL of the persistence unit>\n");
    }

    @Test
    void poolThatCannotBeCopied(CapturedOutput output) {
        assertThat(reportOf(
                        Application.of(OwnDataSource.class).with("holdfast.datasource.maximum-pool-size=2"), output))
                .contains("cannot be derived from the application's data source", "(Unable to find")
                .contains("    holdfast.datasource.url=<JDBC URL of the same database>\n");
    }

    @ParameterizedTest
    @CsvSource({"WrongExpression, there is no such parameter", "WrongPeriod, is not a duration"})
    void annotationThatIsWrong(String bean, String problem, CapturedOutput output) throws ClassNotFoundException {
        Class<?> wrong = Class.forName(FailureTest.class.getName() + "$" + bean);
        assertThat(reportOf(Application.of(wrong), output))
                .contains("Description:", bean + ".work(", problem)
                .contains("Action:", "Change the annotation")
                .doesNotContain("\tat ");
    }

    @Test
    void lockedMethodsWithoutAService(CapturedOutput output) {
        assertThat(reportOf(Application.of(LockedMethodTest.ShopWithDesk.class).with("holdfast.enabled=false"), output))
                .contains("There are @Locked methods, but no LockService")
                .contains("holdfast.enabled=false removes it")
                .doesNotContain("\tat ");
    }

    @Test
    void scheduledMethodsWithoutAService(CapturedOutput output) {
        assertThat(reportOf(Application.of(ShopWithJob.class).with("holdfast.enabled=false"), output))
                .contains("There are @ScheduledLock methods, but no LockService")
                .contains("holdfast.enabled=false removes it")
                .doesNotContain("\tat ");
    }

    @Test
    void propertyOutOfRange(CapturedOutput output) {
        assertThat(reportOf(Application.of(Shop.class).with("holdfast.node-lease=100ms"), output))
                .contains("Invalid value '100ms' for configuration property 'holdfast.node-lease'")
                .contains("from 1 s to 1 d, but is 100 ms");
    }

    @Test
    void propertyOfAnotherKind(CapturedOutput output) {
        assertThat(reportOf(Application.of(Shop.class).with("holdfast.node-lease=soon"), output))
                .contains("Property: holdfast.node-lease", "Value: \"soon\"");
    }

    @Import(Shop.class)
    static class WrongExpression {
        @Locked("order:{#order.id}")
        public void work(long id) {}
    }

    @Import(Shop.class)
    static class WrongPeriod {
        @ScheduledLock(name = "job", every = "soon")
        public void work() {}
    }

    @Import(Shop.class)
    static class ShopWithJob {
        @ScheduledLock(name = "job", every = "1d")
        public void work() {}
    }

    @EnableAutoConfiguration
    @AutoConfigurationPackage(basePackageClasses = Order.class)
    static class UnitByHand {
        @Bean
        LocalContainerEntityManagerFactoryBean entityManagerFactory(DataSource dataSource) {
            return UserStyleTest.unitByHand(dataSource);
        }
    }

    /** Spring Boot sees it, and makes the persistence unit one of JTA. */
    @EnableAutoConfiguration
    @AutoConfigurationPackage(basePackageClasses = Order.class)
    static class JtaUnit {
        @Bean
        JtaTransactionManager transactionManager() {
            return jta();
        }
    }

    /** Spring Boot does not see it. */
    @EnableAutoConfiguration
    @AutoConfigurationPackage(basePackageClasses = Order.class)
    static class JtaTransactions {
        @Bean
        PlatformTransactionManager transactionManager() {
            return jta();
        }
    }

    private static JtaTransactionManager jta() {
        return new JtaTransactionManager(inactive(UserTransaction.class), inactive(TransactionManager.class));
    }

    /** Never in a transaction. */
    private static <T> T inactive(Class<T> type) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(),
                new Class<?>[] {type},
                (proxy, method, arguments) ->
                        method.getReturnType() == int.class ? Status.STATUS_NO_TRANSACTION : null));
    }

    /** Its unit has one of them, and the locks are in neither. */
    @EnableAutoConfiguration
    static class TwoDataSources {
        @Bean
        DataSource first() {
            return new DriverManagerDataSource("jdbc:h2:mem:first");
        }

        @Bean
        DataSource second() {
            return new DriverManagerDataSource("jdbc:h2:mem:second");
        }

        @Bean
        LocalContainerEntityManagerFactoryBean entityManagerFactory(@Qualifier("first") DataSource first) {
            LocalContainerEntityManagerFactoryBean unit = UserStyleTest.unitByHand(first);
            unit.setJpaPropertyMap(Map.of("hibernate.hbm2ddl.auto", "none"));
            return unit;
        }
    }

    @EnableAutoConfiguration
    @AutoConfigurationPackage(basePackageClasses = Order.class)
    static class OwnDataSource {
        @Bean
        DataSource dataSource() {
            return new AbstractDataSource() {
                @Override
                public Connection getConnection() throws SQLException {
                    return DriverManager.getConnection("jdbc:h2:mem:own");
                }

                @Override
                public Connection getConnection(String user, String password) throws SQLException {
                    return getConnection();
                }
            };
        }
    }
}
