package io.github.holdfast.repository.rows;

import io.github.holdfast.repository.memory.InMemoryStoreUnderTest;

/** {@link WaiterRowsContract} on the double. */
class InMemoryWaiterRowsTest extends WaiterRowsContract {

    InMemoryWaiterRowsTest() {
        application = new InMemoryStoreUnderTest();
    }
}
