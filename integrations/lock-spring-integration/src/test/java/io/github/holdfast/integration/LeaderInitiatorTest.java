package io.github.holdfast.integration;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link LeaderInitiatorContract} on every database. */
class LeaderInitiatorTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2 extends LeaderInitiatorContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends LeaderInitiatorContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends LeaderInitiatorContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends LeaderInitiatorContract {}
}
