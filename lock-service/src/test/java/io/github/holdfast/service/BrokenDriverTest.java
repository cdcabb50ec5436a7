package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link BrokenDriverContract} on every database. */
class BrokenDriverTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class OnH2 extends BrokenDriverContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends BrokenDriverContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends BrokenDriverContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends BrokenDriverContract {}
}
