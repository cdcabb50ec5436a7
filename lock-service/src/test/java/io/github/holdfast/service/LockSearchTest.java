package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link LockSearchContract} on every kind of database. */
class LockSearchTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class OnH2Memory extends LockSearchContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends LockSearchContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends LockSearchContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends LockSearchContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends LockSearchContract {}
}
