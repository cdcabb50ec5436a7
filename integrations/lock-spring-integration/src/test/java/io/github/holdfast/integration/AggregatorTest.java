package io.github.holdfast.integration;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link AggregatorContract} on every database. */
class AggregatorTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2 extends AggregatorContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends AggregatorContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends AggregatorContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends AggregatorContract {}
}
