package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link VirtualThreadContract} with two drivers: what matters happens in the process. */
class VirtualThreadTest {

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends VirtualThreadContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends VirtualThreadContract {}
}
