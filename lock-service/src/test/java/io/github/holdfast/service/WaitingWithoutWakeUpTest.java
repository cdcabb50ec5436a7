package io.github.holdfast.service;

import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.TestDatabase;

/** {@link WaitingTest} when waiting threads only poll, on databases that could wake them. */
@OnEachDatabase({TestDatabase.POSTGRESQL, TestDatabase.MARIADB})
class WaitingWithoutWakeUpTest extends WaitingTest {

    @Override
    LockServiceBuilder settings(LockServiceBuilder builder) {
        return builder.withoutWakeUp();
    }
}
