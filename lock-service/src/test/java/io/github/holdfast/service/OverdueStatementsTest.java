package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link OverdueStatementsContract} on the databases that let a statement wait for longer than the test. */
class OverdueStatementsTest {

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends OverdueStatementsContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends OverdueStatementsContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends OverdueStatementsContract {}
}
