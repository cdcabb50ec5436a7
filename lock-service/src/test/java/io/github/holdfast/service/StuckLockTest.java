package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link StuckLockContract} on every kind of database. */
class StuckLockTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class OnH2Memory extends StuckLockContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends StuckLockContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends StuckLockContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends StuckLockContract {}
}
