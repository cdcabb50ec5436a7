package io.github.holdfast.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import com.zaxxer.hikari.HikariDataSource;
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

    abstract static class Refused {
        @Test
        void buildSaysThatItIsForPostgreSqlOnly(Database database) throws Exception {
            try (Services services = Services.on(database);
                    HikariDataSource pool = database.pool(config -> {})) {
                assertThatIllegalStateException()
                        .isThrownBy(() -> services.build(pool, LockServiceBuilder::wakeUpByNotification))
                        .withMessageContaining("Only on PostgreSQL")
                        .withMessageContaining("another database");
                assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
            }
        }
    }

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends Refused {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends Refused {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends Refused {}
}
