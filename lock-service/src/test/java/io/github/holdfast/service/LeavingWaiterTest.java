package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link LeavingWaiterContract} on every kind of database. */
class LeavingWaiterTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends LeavingWaiterContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends LeavingWaiterContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends LeavingWaiterContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends LeavingWaiterContract {}
}
