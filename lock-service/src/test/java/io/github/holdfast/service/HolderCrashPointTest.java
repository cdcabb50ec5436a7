package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link HolderCrashPointContract} on every database. */
class HolderCrashPointTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends HolderCrashPointContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends HolderCrashPointContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends HolderCrashPointContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends HolderCrashPointContract {}
}
