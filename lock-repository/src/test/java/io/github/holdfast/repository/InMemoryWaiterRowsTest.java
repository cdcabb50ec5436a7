package io.github.holdfast.repository;

/** {@link WaiterRowsContract} on the double. */
class InMemoryWaiterRowsTest extends WaiterRowsContract {

    InMemoryWaiterRowsTest() {
        application = new InMemoryStoreUnderTest();
    }
}
