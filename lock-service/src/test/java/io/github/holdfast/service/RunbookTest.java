package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link RunbookContract} on every kind of database. */
class RunbookTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class OnH2Memory extends RunbookContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends RunbookContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends RunbookContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends RunbookContract {}
}
