package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link ElectionContract} and {@link ElectionOutageContract} on every kind of server. */
class ElectionTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends ElectionContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends ElectionContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends ElectionContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends ElectionContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OutageOnH2Tcp extends ElectionOutageContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OutageOnPostgres extends ElectionOutageContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OutageOnMariaDb extends ElectionOutageContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OutageOnMySql extends ElectionOutageContract {}
}
