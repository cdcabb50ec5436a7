package io.github.holdfast.repository;

/** {@link HolderRowsContract} on the double. */
class InMemoryHolderRowsTest extends HolderRowsContract {

    InMemoryHolderRowsTest() {
        application = new InMemoryStoreUnderTest();
    }
}
