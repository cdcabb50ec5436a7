package io.github.holdfast.repository;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

class CommitGuardTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class InH2Memory extends CommitGuardContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class InPostgreSql extends CommitGuardContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class InMariaDb extends CommitGuardContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class InMySql extends CommitGuardContract {}
}
