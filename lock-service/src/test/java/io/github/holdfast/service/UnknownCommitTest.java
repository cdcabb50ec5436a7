package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link UnknownCommitContract} on every database. */
class UnknownCommitTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends UnknownCommitContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends UnknownCommitContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends UnknownCommitContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends UnknownCommitContract {}
}
