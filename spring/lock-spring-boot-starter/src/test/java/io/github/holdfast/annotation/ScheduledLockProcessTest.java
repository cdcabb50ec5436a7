package io.github.holdfast.annotation;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link ScheduledLockProcessContract} on the servers that it is promised for. */
class ScheduledLockProcessTest {

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends ScheduledLockProcessContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends ScheduledLockProcessContract {}
}
