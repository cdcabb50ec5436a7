package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link CrashPointContract} on every database. */
class CrashPointTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class OnH2Memory extends CrashPointContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends CrashPointContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends CrashPointContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends CrashPointContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends CrashPointContract {}
}
