package io.github.holdfast.integration;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link HoldfastLeaderInitiatorContract} on every database. */
class HoldfastLeaderInitiatorTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2 extends HoldfastLeaderInitiatorContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends HoldfastLeaderInitiatorContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends HoldfastLeaderInitiatorContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends HoldfastLeaderInitiatorContract {}
}
