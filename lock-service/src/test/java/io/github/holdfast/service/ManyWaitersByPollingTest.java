package io.github.holdfast.service;

import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.TestDatabase;

/** {@link ManyWaitersTest} where waiters poll although they could be woken. */
@OnEachDatabase(TestDatabase.MYSQL)
class ManyWaitersByPollingTest extends ManyWaitersTest {

    @Override
    LockServiceBuilder settings(LockServiceBuilder builder) {
        return builder.withoutWakeUp();
    }

    @Override
    boolean isWoken() {
        return false;
    }
}
