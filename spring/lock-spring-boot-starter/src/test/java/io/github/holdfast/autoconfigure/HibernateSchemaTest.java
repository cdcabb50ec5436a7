package io.github.holdfast.autoconfigure;

import static io.github.holdfast.autoconfigure.Application.assertThatLocksProtect;
import static io.github.holdfast.autoconfigure.ClassPathWithout.Jar.SPRING_BOOT_LIQUIBASE;
import static org.assertj.core.api.Assertions.assertThat;

import com.example.shop.OrderRepository;
import com.example.shop.Shop;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * Hibernate creates the tables if nothing else manages the schema. In Spring Boot 3, Liquibase support is always on the class path, so Spring
 * Boot 3 does not run this test.
 */
class HibernateSchemaTest {

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends Created {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    @Tag("other-database")
    class OnMySql extends Created {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    @Tag("other-database")
    class OnMariaDb extends Created {}

    abstract static class Created {

        /** In the collation of the database, names that differ would be equal on MySQL and MariaDB. */
        @ParameterizedTest
        @ValueSource(strings = {"create", "create-drop", "update"})
        void namesDiffer(String ddlAuto, Database database) throws Exception {
            try (ConfigurableApplicationContext context = Application.of(Shop.class)
                    .with("spring.datasource.url=" + database.url())
                    .with("spring.datasource.username=" + database.user())
                    .with("spring.datasource.password=" + database.password())
                    .with("spring.liquibase.enabled=false", "spring.jpa.hibernate.ddl-auto=" + ddlAuto)
                    .run()) {
                context.getBean(OrderRepository.class).deleteAll();
                assertThatLocksProtect(context);
            }
        }
    }

    @Test
    void whatHibernateCreatesIsLeftToHibernate() throws Exception {
        // Spring Boot's default for an embedded database whose schema nobody else manages.
        try (ConfigurableApplicationContext context = Application.of(Shop.class)
                .without("spring.jpa.hibernate.ddl-auto")
                .without(SPRING_BOOT_LIQUIBASE)
                .run()) {
            assertThatLocksProtect(context);
            assertThat(context.getBean(JdbcTemplate.class)
                            .queryForList(
                                    "select table_name from information_schema.tables where table_schema = 'PUBLIC'",
                                    String.class))
                    .contains("DISTRIBUTED_LOCK")
                    .doesNotContain("DATABASECHANGELOG");
        }
    }
}
