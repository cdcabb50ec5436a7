package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link SharedLockAdminContract} on every database. */
class SharedLockAdminTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class InH2Memory extends SharedLockAdminContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends SharedLockAdminContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends SharedLockAdminContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends SharedLockAdminContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends SharedLockAdminContract {}
}
