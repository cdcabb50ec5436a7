package io.github.holdfast.liquibase;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.process.JavaProcess;
import io.github.holdfast.test.sources.JavaSources;
import io.github.holdfast.test.sources.ProjectDirectory;
import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import liquibase.GlobalConfiguration;
import liquibase.configuration.core.EnvironmentValueProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The code of the page on the lock of Liquibase, compiled and run on a class path without Hibernate, JPA and Spring Boot. */
class LiquibasePageTest {

    /** Jars that an application without Spring and JPA does not have, and directories of other modules. */
    private static final Pattern MISSING = Pattern.compile(
            "hibernate|persistence|spring-(data|orm|boot|jdbc|context|aop)|lock-(entity|service|spring-boot-starter|test)"
                    + "|test-classes");

    private static final Duration LONG = Duration.ofMinutes(2);

    @Test
    void theCodeOfThePageRunsWithoutHibernate(@TempDir Path directory) throws Exception {
        List<String> blocks = JavaSources.blocksOf("operate/liquibase.md");
        assertThat(blocks).hasSize(1);
        JavaSources.in(directory).file("Page", PAGE.formatted(blocks.get(0))).compile(directory, classPath(directory));
        Files.writeString(directory.resolve("changelog.xml"), CHANGELOG);
        try (URLClassLoader loader =
                        new URLClassLoader(new URL[] {directory.toUri().toURL()});
                JavaProcess application = JavaProcess.of(loader.loadClass("example.Page"))
                        .jvmArgs("-cp", classPath(directory))
                        .start()) {
            assertThat(application.waitFor(LONG))
                    .as(() -> String.join("\n", application.lines()))
                    .isZero();
            assertThat(application.lines())
                    .contains("the lock: liquibase:PUBLIC, owner null", "items: 0")
                    .contains("org.hibernate.Session is missing", "jakarta.persistence.Entity is missing")
                    .contains("org.springframework.context.ApplicationContext is missing");
        }
    }

    @Test
    void theEnvironmentVariableOfThePageIsTheWaitTime() throws Exception {
        Matcher variable = Pattern.compile("LIQUIBASE_\\w+")
                .matcher(Files.readString(ProjectDirectory.resolve("docs/operate/liquibase.md")));
        assertThat(variable.find()).isTrue();
        EnvironmentValueProvider environment = new EnvironmentValueProvider() {
            @Override
            protected Map<?, ?> getMap() {
                return Map.of(variable.group(), "10");
            }
        };
        assertThat(environment.getProvidedValue(GlobalConfiguration.CHANGELOGLOCK_WAIT_TIME.getKey()))
                .as(variable.group())
                .isNotNull();
    }

    private static String classPath(Path classes) {
        return Stream.concat(
                        Stream.of(classes.toString()),
                        Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
                                .filter(entry ->
                                        !MISSING.matcher(shortened(entry)).find()))
                .collect(Collectors.joining(File.pathSeparator));
    }

    /** Returns the last parts of a path: of a jar its name, of a directory of classes the module too. */
    private static String shortened(String entry) {
        Path path = Path.of(entry);
        return entry.endsWith(".jar")
                ? path.getFileName().toString()
                : path.subpath(Math.max(0, path.getNameCount() - 3), path.getNameCount())
                        .toString();
    }

    private static final String CHANGELOG = """
            <?xml version="1.0" encoding="UTF-8"?>
            <databaseChangeLog xmlns="http://www.liquibase.org/xml/ns/dbchangelog"
                               xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
                               xsi:schemaLocation="http://www.liquibase.org/xml/ns/dbchangelog
                                   http://www.liquibase.org/xml/ns/dbchangelog/dbchangelog-latest.xsd">
                <include file="db/changelog/holdfast/changelog.xml"/>
                <changeSet id="1" author="example">
                    <createTable tableName="item">
                        <column name="name" type="varchar(20)"/>
                    </createTable>
                </changeSet>
            </databaseChangeLog>
            """;

    private static final String PAGE = """
            package example;

            import io.github.holdfast.liquibase.LiquibaseLock;
            import java.sql.Connection;
            import java.sql.ResultSet;
            import java.time.Duration;
            import liquibase.Contexts;
            import liquibase.Liquibase;
            import liquibase.database.Database;
            import liquibase.database.DatabaseFactory;
            import liquibase.database.jvm.JdbcConnection;
            import liquibase.resource.ClassLoaderResourceAccessor;
            import org.h2.jdbcx.JdbcDataSource;

            public class Page {

                public static void main(String[] args) throws Exception {
                    JdbcDataSource dataSource = new JdbcDataSource();
                    dataSource.setURL("jdbc:h2:mem:page;DB_CLOSE_DELAY=-1");
                    %s
                    try (Connection connection = dataSource.getConnection();
                            ResultSet lock = connection.createStatement()
                                    .executeQuery("select name, owner from distributed_lock")) {
                        lock.next();
                        System.out.println("the lock: " + lock.getString(1) + ", owner " + lock.getString(2));
                        ResultSet items = connection.createStatement().executeQuery("select count(*) from item");
                        items.next();
                        System.out.println("items: " + items.getLong(1));
                    }
                    tellMissing("org.hibernate.Session");
                    tellMissing("jakarta.persistence.Entity");
                    tellMissing("org.springframework.context.ApplicationContext");
                }

                private static void tellMissing(String type) {
                    try {
                        Class.forName(type);
                    } catch (ClassNotFoundException missing) {
                        System.out.println(type + " is missing");
                    }
                }
            }
            """;
}
