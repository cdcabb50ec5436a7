package io.github.holdfast.service;

import io.github.holdfast.service.engine.FakeTicker;

/** {@link LockSearchContract} on the double of the store. */
class InMemoryLockSearchTest extends LockSearchContract {

    @Override
    TestServices services() {
        return new InMemoryServices(new FakeTicker().passingWhileCallersWait());
    }
}
