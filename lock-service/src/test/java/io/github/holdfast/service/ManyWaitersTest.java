package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link ManyWaitersContract} on every kind of database, and where waiters poll. */
class ManyWaitersTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends ManyWaitersContract {
        @Override
        boolean isWoken() {
            return false;
        }
    }

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends ManyWaitersContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends ManyWaitersContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends ManyWaitersContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySqlByPolling extends ManyWaitersContract {
        @Override
        LockServiceBuilder settings(LockServiceBuilder builder) {
            return builder.withoutWakeUp();
        }

        @Override
        boolean isWoken() {
            return false;
        }
    }
}
