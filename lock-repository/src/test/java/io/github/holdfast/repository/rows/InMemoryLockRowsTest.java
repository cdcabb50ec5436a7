package io.github.holdfast.repository.rows;

import io.github.holdfast.repository.memory.InMemoryStoreUnderTest;

/** {@link LockRowsContract} on the double. */
class InMemoryLockRowsTest extends LockRowsContract {

    InMemoryLockRowsTest() {
        application = new InMemoryStoreUnderTest();
    }
}
