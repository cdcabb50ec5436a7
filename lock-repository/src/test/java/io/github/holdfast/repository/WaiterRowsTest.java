package io.github.holdfast.repository;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link WaiterRowsContract} on all databases. */
class WaiterRowsTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class InH2Memory extends WaiterRowsContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class InH2Tcp extends WaiterRowsContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class InMariaDb extends WaiterRowsContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class InMySql extends WaiterRowsContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class InPostgreSql extends WaiterRowsContract {}
}
