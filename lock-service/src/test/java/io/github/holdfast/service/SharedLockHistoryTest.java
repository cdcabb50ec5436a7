package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link SharedLockHistoryContract} on every database with a server. */
class SharedLockHistoryTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends SharedLockHistoryContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends SharedLockHistoryContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends SharedLockHistoryContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends SharedLockHistoryContract {}
}
