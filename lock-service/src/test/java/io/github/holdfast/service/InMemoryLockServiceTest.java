package io.github.holdfast.service;

import io.github.holdfast.service.engine.FakeTicker;

/** {@link LockServiceContract} on the double of the store. */
class InMemoryLockServiceTest extends LockServiceContract {

    InMemoryLockServiceTest() {
        services = new InMemoryServices(new FakeTicker().passingWhileCallersWait());
    }
}
