package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link TransactionCrashPointContract} on every database. */
class TransactionCrashPointTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends TransactionCrashPointContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends TransactionCrashPointContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends TransactionCrashPointContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends TransactionCrashPointContract {}
}
