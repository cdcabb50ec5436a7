package io.github.holdfast.integration;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link RolloutContract} on every database. */
class RolloutTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class OnH2 extends RolloutContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends RolloutContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends RolloutContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends RolloutContract {}
}
