package io.github.holdfast.repository.wakeup;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.repository.store.TestApplication;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** {@link WakeUpChannelContract} on the database that notifies, {@link MysqlWakeUpChannelContract} on those that have bells. */
class WakeUpChannelTest {

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class InPostgreSql extends WakeUpChannelContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    @Tag("other-database")
    class InMySql extends MysqlWakeUpChannelContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    @Tag("other-database")
    class InMariaDb extends MysqlWakeUpChannelContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class InH2 {

        @Test
        void wakesNobody(Database database) {
            try (TestApplication application = TestApplication.on(database)) {
                assertThat(application.store().wakeUpChannel(Runnable::run)).isEmpty();
            }
        }
    }
}
