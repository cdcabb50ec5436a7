package io.github.holdfast.repository;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link MysqlBellContract} on the databases that have bells. */
class MysqlBellTest {

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class InMySql extends MysqlBellContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class InMariaDb extends MysqlBellContract {}
}
