package io.github.holdfast.integration;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link LockLossContract} on every database. */
class LockLossTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class OnH2 extends LockLossContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends LockLossContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends LockLossContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends LockLossContract {}
}
