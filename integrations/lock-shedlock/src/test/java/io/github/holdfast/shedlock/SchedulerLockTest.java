package io.github.holdfast.shedlock;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link SchedulerLockContract} on servers whose clock is another process's. */
class SchedulerLockTest {

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends SchedulerLockContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends SchedulerLockContract {}
}
