package io.github.holdfast.service;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link WaitingContract} on every kind of database. */
class WaitingTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class OnH2Memory extends WaitingContract {

        /** In the application's own process, H2 takes an interrupt for a lock timeout, and nobody sees it any more. */
        @Override
        Outcome outcome(LockStoreException failed) {
            assertThat(failed).hasStackTraceContaining("JdbcSQLTimeoutException");
            return Outcome.INTERRUPTED;
        }
    }

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends WaitingContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends WaitingContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends WaitingContract {}
}
