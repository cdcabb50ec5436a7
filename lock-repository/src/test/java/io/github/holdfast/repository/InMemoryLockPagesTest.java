package io.github.holdfast.repository;

/** {@link LockPagesContract} on the double. */
class InMemoryLockPagesTest extends LockPagesContract {

    InMemoryLockPagesTest() {
        application = new InMemoryStoreUnderTest();
    }
}
