package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link SemaphoreAdminContract} on every database. */
class SemaphoreAdminTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class InH2Memory extends SemaphoreAdminContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends SemaphoreAdminContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends SemaphoreAdminContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends SemaphoreAdminContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends SemaphoreAdminContract {}
}
