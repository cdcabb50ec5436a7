package io.github.holdfast.task;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link TaskContract} on every kind of server. */
class TaskTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends TaskContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends TaskContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends TaskContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends TaskContract {}
}
