package io.github.holdfast.liquibase;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

class LiquibaseProcessTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends LiquibaseProcessContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends LiquibaseProcessContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends LiquibaseProcessContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends LiquibaseProcessContract {}
}
