package io.github.holdfast.liquibase;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

class LiquibaseRunTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class OnH2 extends LiquibaseRunContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends LiquibaseRunContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends LiquibaseRunContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends LiquibaseRunContract {}
}
