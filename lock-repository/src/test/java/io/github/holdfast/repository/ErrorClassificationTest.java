package io.github.holdfast.repository;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

class ErrorClassificationTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class InH2Memory extends ErrorClassificationContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_FILE)
    class InH2File extends ErrorClassificationContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class InH2OverTcp extends ErrorClassificationContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class InPostgreSql extends ErrorClassificationContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class InMariaDb extends ErrorClassificationContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class InMySql extends ErrorClassificationContract {}
}
