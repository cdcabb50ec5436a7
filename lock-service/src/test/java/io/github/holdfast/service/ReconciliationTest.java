package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link ReconciliationContract} on every database that is a server. */
class ReconciliationTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends ReconciliationContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends ReconciliationContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends ReconciliationContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends ReconciliationContract {}
}
