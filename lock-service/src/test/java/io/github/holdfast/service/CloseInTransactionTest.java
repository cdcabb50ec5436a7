package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link CloseInTransactionContract} on every database. */
class CloseInTransactionTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class OnH2Memory extends CloseInTransactionContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_FILE)
    class OnH2File extends CloseInTransactionContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends CloseInTransactionContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends CloseInTransactionContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends CloseInTransactionContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends CloseInTransactionContract {}
}
