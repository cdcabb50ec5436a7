package io.github.holdfast.repository;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

class LockNodeRepositoryTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class InH2Memory extends LockNodeRepositoryContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class InH2OverTcp extends LockNodeRepositoryContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class InPostgreSql extends LockNodeRepositoryContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class InMariaDb extends LockNodeRepositoryContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class InMySql extends LockNodeRepositoryContract {}
}
