package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link StatementCountContract} on every database. */
class StatementCountTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class OnH2Memory extends StatementCountContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_FILE)
    class OnH2File extends StatementCountContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends StatementCountContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends StatementCountContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends StatementCountContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends StatementCountContract {}
}
