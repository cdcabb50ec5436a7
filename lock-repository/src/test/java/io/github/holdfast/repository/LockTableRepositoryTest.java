package io.github.holdfast.repository;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

class LockTableRepositoryTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class InH2Memory extends LockTableRepositoryContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class InH2OverTcp extends LockTableRepositoryContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class InPostgreSql extends LockTableRepositoryContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class InMariaDb extends LockTableRepositoryContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class InMySql extends LockTableRepositoryContract {}
}
