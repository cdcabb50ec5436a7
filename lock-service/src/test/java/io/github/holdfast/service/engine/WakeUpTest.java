package io.github.holdfast.service.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.service.LockServiceBuilder;
import io.github.holdfast.service.Services;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** {@link WakeUpContract} on PostgreSQL; the other databases refuse it. */
class WakeUpTest {

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends WakeUpContract {}

    abstract static class Unavailable {
        @Test
        void buildSaysThatItIsForPostgreSqlOnly(Database database) throws Exception {
            try (Services services = Services.on(database);
                    HikariDataSource pool = database.pool(config -> {})) {
                assertThatIllegalStateException()
                        .isThrownBy(() -> services.build(pool, LockServiceBuilder::wakeUpByNotification))
                        .withMessageContaining("requires PostgreSQL")
                        .withMessageContaining("another database");
                assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
            }
        }
    }

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends Unavailable {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends Unavailable {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends Unavailable {}
}
