package io.github.holdfast.repository;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link WakeUpChannelContract} on the only database that notifies. */
class WakeUpChannelTest {

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class InPostgreSql extends WakeUpChannelContract {}
}
