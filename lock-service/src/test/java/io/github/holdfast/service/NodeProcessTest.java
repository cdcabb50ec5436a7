package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link NodeProcessContract} on every database that several processes can use. */
class NodeProcessTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends NodeProcessContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends NodeProcessContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends NodeProcessContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends NodeProcessContract {}
}
