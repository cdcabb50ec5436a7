package io.github.holdfast.liquibase;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

class LiquibaseSameRulesTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class OnH2 extends LiquibaseSameRulesContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends LiquibaseSameRulesContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends LiquibaseSameRulesContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends LiquibaseSameRulesContract {}
}
