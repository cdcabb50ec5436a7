package io.github.holdfast.repository;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

class ClockTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class InH2Memory extends ClockContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_FILE)
    class InH2File extends ClockContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class InH2OverTcp extends ClockContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class InPostgreSql extends ClockContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class InMariaDb extends ClockContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class InMySql extends ClockContract {}
}
