package io.github.holdfast.service;

import io.github.holdfast.service.engine.FakeTicker;

/** {@link FairContract} on the double of the store. */
class InMemoryFairTest extends FairContract {

    @Override
    TestServices services() {
        return new InMemoryServices(new FakeTicker().passingWhileCallersWait());
    }
}
