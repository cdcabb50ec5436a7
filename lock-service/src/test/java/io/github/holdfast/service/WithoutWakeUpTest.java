package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** What must be the same when waiting threads only poll, on databases that could wake them. */
class WithoutWakeUpTest {

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class CountsOnPostgres extends StatementCountContract {
        @Override
        LockServiceBuilder settings(LockServiceBuilder builder) {
            return builder.withoutWakeUp();
        }
    }

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class CountsOnMySql extends StatementCountContract {
        @Override
        LockServiceBuilder settings(LockServiceBuilder builder) {
            return builder.withoutWakeUp();
        }
    }

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class WaitingOnPostgres extends WaitingContract {
        @Override
        LockServiceBuilder settings(LockServiceBuilder builder) {
            return builder.withoutWakeUp();
        }
    }

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class WaitingOnMariaDb extends WaitingContract {
        @Override
        LockServiceBuilder settings(LockServiceBuilder builder) {
            return builder.withoutWakeUp();
        }
    }
}
