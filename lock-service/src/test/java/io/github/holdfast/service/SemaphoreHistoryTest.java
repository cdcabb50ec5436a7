package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link SemaphoreHistoryContract} on every database with a server. */
class SemaphoreHistoryTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends SemaphoreHistoryContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends SemaphoreHistoryContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends SemaphoreHistoryContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends SemaphoreHistoryContract {}
}
