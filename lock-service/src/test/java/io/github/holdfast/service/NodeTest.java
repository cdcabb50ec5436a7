package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link NodeContract} on every database. */
class NodeTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class OnH2Memory extends NodeContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends NodeContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends NodeContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends NodeContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends NodeContract {}
}
