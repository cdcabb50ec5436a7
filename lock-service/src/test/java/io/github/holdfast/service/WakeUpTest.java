package io.github.holdfast.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.test.CountingDataSource;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** {@link WakeUpContract} on PostgreSQL, and what else must be as without a wake-up; the other databases refuse it. */
class WakeUpTest {

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends WakeUpContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class CountsOnPostgres extends StatementCountContract {
        @Override
        LockServiceBuilder settings(LockServiceBuilder builder) {
            return builder.wakeUpByNotification();
        }

        /** The connection that listens is set up by statements of its own. */
        @Override
        void awaitReady(CountingDataSource counting) {
            await().until(() -> counting.sql().stream().anyMatch(sql -> sql.contains("pg_notify")));
            await().until(() -> counting.commits() == 1);
        }
    }

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class IsolationOnPostgres extends IsolationContract {
        @Override
        LockServiceBuilder settings(LockServiceBuilder builder) {
            return builder.wakeUpByNotification();
        }
    }

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class WaitingOnPostgres extends WaitingContract {
        @Override
        LockServiceBuilder settings(LockServiceBuilder builder) {
            return builder.wakeUpByNotification();
        }
    }

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
