package io.github.holdfast.repository;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

class AutocommitTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class InH2Memory extends AutocommitContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_FILE)
    class InH2File extends AutocommitContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class InH2OverTcp extends AutocommitContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class InPostgreSql extends AutocommitContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class InMariaDb extends AutocommitContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class InMySql extends AutocommitContract {}
}
