package io.github.holdfast.shedlock;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link LockProviderContract} on every kind of database. */
class LockProviderTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends LockProviderContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends LockProviderContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends LockProviderContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends LockProviderContract {}
}
