package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link MutualExclusionContract} on every database. */
class MutualExclusionTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class OnH2Memory extends MutualExclusionContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_FILE)
    class OnH2File extends MutualExclusionContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends MutualExclusionContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends MutualExclusionContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends MutualExclusionContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends MutualExclusionContract {}
}
