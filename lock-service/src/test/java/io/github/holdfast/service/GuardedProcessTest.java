package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link GuardedProcessContract} on every database that several processes can use. */
class GuardedProcessTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends GuardedProcessContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends GuardedProcessContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends GuardedProcessContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends GuardedProcessContract {}
}
