package io.github.holdfast.repository.rows;

import io.github.holdfast.repository.memory.InMemoryStoreUnderTest;

/** {@link LockRunRepositoryContract} on the double. */
class InMemoryRunRepositoryTest extends LockRunRepositoryContract {

    InMemoryRunRepositoryTest() {
        application = new InMemoryStoreUnderTest();
    }
}
