package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link TakeoverContract} on every database that several processes can use. */
class TakeoverTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends TakeoverContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends TakeoverContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends TakeoverContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends TakeoverContract {}
}
