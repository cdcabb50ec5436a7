package io.github.holdfast.repository;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import java.util.Map;
import org.hibernate.SessionFactory;
import org.junit.jupiter.api.Test;

/** Opening a store parses the queries of its check and those compiled for JDBC, not all that it may ever execute. */
@OnDatabase(TestDatabase.H2_MEMORY)
class QueriesAtStartTest {

    private static final int PARSED_AT_MOST = 25;

    @Test
    void openingAStoreParsesFewQueries(Database database) {
        try (TestApplication application =
                TestApplication.on(database, pool -> {}, Map.of("hibernate.generate_statistics", "true"))) {
            long parsed = application
                    .entityManagerFactory()
                    .unwrap(SessionFactory.class)
                    .getStatistics()
                    .getQueryPlanCacheMissCount();
            assertThat(parsed).isBetween(1L, (long) PARSED_AT_MOST);
        }
    }
}
