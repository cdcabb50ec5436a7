package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link RowLockContract} on every kind of database. */
class RowLockTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class OnH2Memory extends RowLockContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends RowLockContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends RowLockContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends RowLockContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends RowLockContract {}
}
