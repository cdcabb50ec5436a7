package io.github.holdfast.repository;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.util.Map;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

class LockSchemaTest {

    @Test
    void namesTheChangelog() {
        assertThat(LockSchema.class.getClassLoader().getResource(LockSchema.CHANGELOG))
                .isNotNull();
    }

    @Test
    void refusesADatabaseWithoutSql() {
        DatabaseMetaData metaData = answering(
                DatabaseMetaData.class,
                Map.of("getDatabaseProductName", "Apache Derby", "getDatabaseProductVersion", "10.17"));
        Connection connection = answering(
                Connection.class, Map.of("getMetaData", metaData, "getCatalog", "app", "getAutoCommit", true));
        DataSource derby = answering(DataSource.class, Map.of("getConnection", connection));

        assertThatIllegalStateException()
                .isThrownBy(() -> LockSchema.on(derby).createIfMissing())
                .withMessageContaining("app (Apache Derby 10.17)")
                .withMessageContaining("PostgreSQL, MySQL, MariaDB and H2");
    }

    @Test
    void saysThatTheDatabaseCannotBeReached() {
        LockSchema schema = LockSchema.on(new DriverManagerDataSource("jdbc:none:nowhere"));

        assertThatIllegalStateException()
                .isThrownBy(schema::createIfMissing)
                .withMessageContaining("jdbc:none:nowhere")
                .withCauseInstanceOf(SQLException.class);
    }

    private static <T> T answering(Class<T> type, Map<String, Object> answers) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(),
                new Class<?>[] {type},
                (proxy, method, arguments) -> answers.get(method.getName())));
    }
}
