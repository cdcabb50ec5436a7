package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link DowngradeContract} on every database. */
class DowngradeTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class InH2Memory extends DowngradeContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends DowngradeContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends DowngradeContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends DowngradeContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends DowngradeContract {}
}
