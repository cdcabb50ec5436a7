package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link WaiterCrashPointContract} on every kind of database. */
class WaiterCrashPointTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends WaiterCrashPointContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends WaiterCrashPointContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends WaiterCrashPointContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends WaiterCrashPointContract {}
}
