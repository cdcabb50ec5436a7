package io.github.holdfast.repository;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

class StandaloneTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class InH2Memory extends StandaloneContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_FILE)
    class InH2File extends StandaloneContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class InH2OverTcp extends StandaloneContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class InPostgreSql extends StandaloneContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class InMariaDb extends StandaloneContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class InMySql extends StandaloneContract {}
}
