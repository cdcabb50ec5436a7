package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link SwitchOverContract} on every database that can be told to only read. */
class SwitchOverTest {

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends SwitchOverContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends SwitchOverContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends SwitchOverContract {}
}
