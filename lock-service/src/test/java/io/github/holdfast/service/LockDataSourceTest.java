package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link LockDataSourceContract} where connections are to a server. */
class LockDataSourceTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends LockDataSourceContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends LockDataSourceContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends LockDataSourceContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends LockDataSourceContract {}
}
