package io.github.holdfast.service.engine;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link WakeUpContract} on the databases that can wake a session. */
class WakeUpTest {

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends WakeUpContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends WakeUpContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends WakeUpContract {}
}
