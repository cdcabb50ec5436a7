package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link LeastPrivilegeContract} on every kind of database. */
class LeastPrivilegeTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class OnH2Memory extends LeastPrivilegeContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends LeastPrivilegeContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends LeastPrivilegeContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends LeastPrivilegeContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends LeastPrivilegeContract {}
}
