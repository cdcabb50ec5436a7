package io.github.holdfast.service;

import io.github.holdfast.service.engine.FakeTicker;

/** {@link SuspensionContract} on the double of the store. */
class InMemorySuspensionTest extends SuspensionContract {

    @Override
    TestServices services(FakeTicker ticker) {
        return new InMemoryServices(ticker);
    }
}
