package io.github.holdfast.repository;

/** {@link LockRowsContract} on the double. */
class InMemoryLockRowsTest extends LockRowsContract {

    InMemoryLockRowsTest() {
        application = new InMemoryStoreUnderTest();
    }
}
