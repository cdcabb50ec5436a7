package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link IsolationContract} on every database. */
class IsolationTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class OnH2Memory extends IsolationContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_FILE)
    class OnH2File extends IsolationContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends IsolationContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends IsolationContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends IsolationContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends IsolationContract {}
}
