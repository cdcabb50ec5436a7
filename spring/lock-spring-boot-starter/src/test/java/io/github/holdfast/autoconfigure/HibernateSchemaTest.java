package io.github.holdfast.autoconfigure;

import static io.github.holdfast.autoconfigure.Application.assertThatLocksProtect;
import static io.github.holdfast.autoconfigure.ClassPathWithout.Jar.SPRING_BOOT_LIQUIBASE;
import static org.assertj.core.api.Assertions.assertThat;

import com.example.shop.Shop;
import org.junit.jupiter.api.Test;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * Hibernate creates the tables if nothing else manages the schema. In Spring Boot 3, Liquibase support is always on the class path, so Spring
 * Boot 3 does not run this test.
 */
class HibernateSchemaTest {

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
