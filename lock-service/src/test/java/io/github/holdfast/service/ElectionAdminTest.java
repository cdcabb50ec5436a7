package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link ElectionAdminContract} on every kind of server. */
class ElectionAdminTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends ElectionAdminContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends ElectionAdminContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends ElectionAdminContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends ElectionAdminContract {}
}
