package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link CallersContextContract} on every database. */
class CallersContextTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class OnH2Memory extends CallersContextContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_FILE)
    class OnH2File extends CallersContextContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends CallersContextContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends CallersContextContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends CallersContextContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends CallersContextContract {}
}
