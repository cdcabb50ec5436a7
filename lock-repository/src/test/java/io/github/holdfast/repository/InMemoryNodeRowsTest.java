package io.github.holdfast.repository;

/** {@link NodeRowsContract} on the double. */
class InMemoryNodeRowsTest extends NodeRowsContract {

    InMemoryNodeRowsTest() {
        application = new InMemoryStoreUnderTest();
    }
}
