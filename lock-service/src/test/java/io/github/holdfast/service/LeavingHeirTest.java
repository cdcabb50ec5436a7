package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link LeavingHeirContract} on every kind of database. */
class LeavingHeirTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends LeavingHeirContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends LeavingHeirContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends LeavingHeirContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends LeavingHeirContract {}
}
