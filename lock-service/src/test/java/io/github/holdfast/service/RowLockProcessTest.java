package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link RowLockProcessContract} on every kind of database that two processes can use. */
class RowLockProcessTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends RowLockProcessContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends RowLockProcessContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends RowLockProcessContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends RowLockProcessContract {}
}
