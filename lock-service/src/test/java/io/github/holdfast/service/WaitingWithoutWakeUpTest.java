package io.github.holdfast.service;

import static io.github.holdfast.test.TestDatabase.MARIADB;
import static io.github.holdfast.test.TestDatabase.POSTGRESQL;

import io.github.holdfast.test.OnEachDatabase;

/** {@link WaitingTest} when waiting threads only poll, on databases that could wake them. */
@OnEachDatabase({POSTGRESQL, MARIADB})
class WaitingWithoutWakeUpTest extends WaitingTest {

    @Override
    LockServiceBuilder settings(LockServiceBuilder builder) {
        return builder.withoutWakeUp();
    }
}
