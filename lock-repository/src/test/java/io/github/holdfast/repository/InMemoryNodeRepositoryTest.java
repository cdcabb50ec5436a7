package io.github.holdfast.repository;

/** {@link LockNodeRepositoryContract} on the double. */
class InMemoryNodeRepositoryTest extends LockNodeRepositoryContract {

    InMemoryNodeRepositoryTest() {
        application = new InMemoryStoreUnderTest();
    }
}
