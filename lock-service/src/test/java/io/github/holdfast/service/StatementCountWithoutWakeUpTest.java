package io.github.holdfast.service;

import static io.github.holdfast.test.TestDatabase.MYSQL;
import static io.github.holdfast.test.TestDatabase.POSTGRESQL;

import io.github.holdfast.test.OnEachDatabase;

/** {@link StatementCountTest} when waiting threads only poll, on databases that could wake them. */
@OnEachDatabase({POSTGRESQL, MYSQL})
class StatementCountWithoutWakeUpTest extends StatementCountTest {

    @Override
    LockServiceBuilder settings(LockServiceBuilder builder) {
        return builder.withoutWakeUp();
    }
}
