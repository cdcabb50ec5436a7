package io.github.holdfast.service;

import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.TestDatabase;

/** {@link StatementCountTest} when waiting threads only poll, on databases that could wake them. */
@OnEachDatabase({TestDatabase.POSTGRESQL, TestDatabase.MYSQL})
class StatementCountWithoutWakeUpTest extends StatementCountTest {

    @Override
    LockServiceBuilder settings(LockServiceBuilder builder) {
        return builder.withoutWakeUp();
    }
}
