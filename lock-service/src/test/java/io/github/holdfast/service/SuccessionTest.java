package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link SuccessionContract} on every database. */
class SuccessionTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class OnH2Memory extends SuccessionContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_FILE)
    class OnH2File extends SuccessionContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends SuccessionContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends SuccessionContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends SuccessionContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends SuccessionContract {}
}
