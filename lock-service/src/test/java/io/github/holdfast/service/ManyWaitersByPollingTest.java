package io.github.holdfast.service;

import static io.github.holdfast.test.TestDatabase.MYSQL;

import io.github.holdfast.test.OnEachDatabase;
import org.junit.jupiter.api.Tag;

/** {@link ManyWaitersTest} where waiters poll although they could be woken. */
@Tag("long")
@OnEachDatabase(MYSQL)
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
