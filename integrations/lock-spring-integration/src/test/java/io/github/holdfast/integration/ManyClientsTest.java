package io.github.holdfast.integration;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link ManyClientsContract} on every database. */
class ManyClientsTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2 extends ManyClientsContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends ManyClientsContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends ManyClientsContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends ManyClientsContract {}
}
