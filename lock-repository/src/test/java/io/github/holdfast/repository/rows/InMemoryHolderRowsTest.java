package io.github.holdfast.repository.rows;

import io.github.holdfast.repository.memory.InMemoryStoreUnderTest;

/** {@link HolderRowsContract} on the double. */
class InMemoryHolderRowsTest extends HolderRowsContract {

    InMemoryHolderRowsTest() {
        application = new InMemoryStoreUnderTest();
    }
}
