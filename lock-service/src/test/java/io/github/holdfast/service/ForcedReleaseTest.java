package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link ForcedReleaseContract} on every database that is a server. */
class ForcedReleaseTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends ForcedReleaseContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends ForcedReleaseContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends ForcedReleaseContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends ForcedReleaseContract {}
}
