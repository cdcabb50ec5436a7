package io.github.holdfast.repository;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

class LockStoreTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class InH2Memory extends LockStoreContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_FILE)
    class InH2File extends LockStoreContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class InH2OverTcp extends LockStoreContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class InPostgreSql extends LockStoreContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class InMariaDb extends LockStoreContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class InMySql extends LockStoreContract {}
}
