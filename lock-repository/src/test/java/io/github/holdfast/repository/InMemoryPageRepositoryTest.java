package io.github.holdfast.repository;

/** {@link LockPageRepositoryContract} on the double. */
class InMemoryPageRepositoryTest extends LockPageRepositoryContract {

    InMemoryPageRepositoryTest() {
        application = new InMemoryStoreUnderTest();
    }
}
