package io.github.holdfast.repository.rows;

import io.github.holdfast.repository.memory.InMemoryStoreUnderTest;

/** {@link LockNodeRepositoryContract} on the double. */
class InMemoryNodeRepositoryTest extends LockNodeRepositoryContract {

    InMemoryNodeRepositoryTest() {
        application = new InMemoryStoreUnderTest();
    }
}
