package io.github.holdfast.service;

import static org.awaitility.Awaitility.await;

import io.github.holdfast.test.CountingDataSource;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.FaultyDataSource;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;

/** What must be the same when waiting threads are woken by notifications; {@code WakeUpTest} has the rest. */
class AsWithoutWakeUpTest {

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
    class CrashesOnPostgres extends CrashPointContract {
        /** Without it, a release notifies nobody. */
        @BeforeAll
        void anotherNodeWaits(Database database) {
            database.execute("insert into lock_node (id, started_at, expires_at, ended, version, waits_until)"
                    + " values ('waiting', now(), now() + interval '1 day', false, 0, now() + interval '1 day')");
        }

        @Override
        LockServiceBuilder settings(LockServiceBuilder builder) {
            return builder.wakeUpByNotification();
        }

        /** It asks for the number of the table, listens, and tries that with a notification and its commit. */
        @Override
        void awaitReady(FaultyDataSource counting) {
            await().until(() -> counting.steps() >= 4);
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
}
