package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link HandOffContract} on every database. */
class HandOffTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class OnH2Memory extends HandOffContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_FILE)
    class OnH2File extends HandOffContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends HandOffContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends HandOffContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends HandOffContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends HandOffContract {}
}
