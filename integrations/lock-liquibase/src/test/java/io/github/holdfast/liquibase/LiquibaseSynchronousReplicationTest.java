package io.github.holdfast.liquibase;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.test.RestartableDatabase;
import io.github.holdfast.test.TestDatabase;
import java.sql.SQLException;
import java.time.Duration;
import liquibase.exception.LockException;
import liquibase.lockservice.LockService;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A PostgreSQL server whose synchronous standby is away: a failover would undo what it has committed meanwhile. */
@Tag("outage")
@Timeout(240)
class LiquibaseSynchronousReplicationTest {

    private static final Duration SOON = Duration.ofSeconds(90);

    @Test
    void nothingIsBelievedThatOnlyThePrimaryHas() throws Exception {
        try (RestartableDatabase server = RestartableDatabase.start(TestDatabase.POSTGRESQL);
                HikariDataSource pool = server.database().pool(config -> config.setMaximumPoolSize(5));
                Run run = Run.under(LiquibaseLock.on(pool).lease(Duration.ofSeconds(30)), pool)) {
            LockService lock = run.lock();
            lock.waitForLock();
            lock.releaseLock();
            try {
                standby(server, "set synchronous_standby_names = 'away'");
                // Sessions show the new value before the checkpointer has told them all to wait.
                await().atMost(SOON).until(() -> isRefused(lock));
                freeOnThePrimary(pool);
                assertThatExceptionOfType(LockException.class)
                        .isThrownBy(lock::waitForLock)
                        .withStackTraceContaining("standby");
                assertThat(lock.hasChangeLogLock()).isFalse();
                assertThatExceptionOfType(LockException.class)
                        .as("a forced release, with a commit of its own")
                        .isThrownBy(lock::forceReleaseLock)
                        .withStackTraceContaining("standby");
            } finally {
                standby(server, "reset synchronous_standby_names");
            }
            await().atMost(SOON).until(() -> !isRefused(lock));
        }
    }

    private static void standby(RestartableDatabase server, String setting) {
        server.database().administer("alter system " + setting, "select pg_reload_conf()");
    }

    private static boolean isRefused(LockService lock) throws LockException {
        try {
            lock.waitForLock();
            lock.releaseLock();
            return false;
        } catch (LockException refused) {
            assertThat(refused).hasStackTraceContaining("standby");
            return true;
        }
    }

    /** A failover would undo this, but none comes in the test. */
    private static void freeOnThePrimary(HikariDataSource pool) throws SQLException {
        try (var connection = pool.getConnection();
                var statement = connection.createStatement()) {
            statement.execute("set synchronous_commit = local");
            statement.execute("update distributed_lock set owner = null, hold_count = 0, version = version + 1");
            statement.execute("reset synchronous_commit");
        }
    }
}
