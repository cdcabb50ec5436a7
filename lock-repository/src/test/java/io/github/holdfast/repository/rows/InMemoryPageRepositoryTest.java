package io.github.holdfast.repository.rows;

import io.github.holdfast.repository.memory.InMemoryStoreUnderTest;

/** {@link LockPageRepositoryContract} on the double. */
class InMemoryPageRepositoryTest extends LockPageRepositoryContract {

    InMemoryPageRepositoryTest() {
        application = new InMemoryStoreUnderTest();
    }
}
