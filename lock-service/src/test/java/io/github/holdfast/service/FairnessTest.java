package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link FairnessContract} on every kind of database that several processes can use. */
class FairnessTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends FairnessContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends FairnessContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends FairnessContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends FairnessContract {}
}
