package io.github.holdfast.repository;

/** {@link LockRunRepositoryContract} on the double. */
class InMemoryRunRepositoryTest extends LockRunRepositoryContract {

    InMemoryRunRepositoryTest() {
        application = new InMemoryStoreUnderTest();
    }
}
