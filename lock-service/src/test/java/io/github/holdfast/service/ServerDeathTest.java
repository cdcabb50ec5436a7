package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link ServerDeathContract} on every database that has a server: H2 in memory and in a file dies with its process. */
class ServerDeathTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends ServerDeathContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends ServerDeathContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends ServerDeathContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends ServerDeathContract {}
}
