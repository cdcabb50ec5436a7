package io.github.holdfast.clusters;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.ReleaseOutcome;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** PostgreSQL's queue of notifications is full, because a session that listens stays in one transaction. */
@Tag("cluster")
class NotificationQueueTest {

    private static final Duration SOON = ofSeconds(60);
    private static final LockRequest REQUEST = LockRequest.of("lock").waitAtMost(SOON);

    @Test
    void aLockIsReleasedWithoutANotification() throws Exception {
        try (PostgresServer server = PostgresServer.create()) {
            server.configure("max_notify_queue_pages = 64");
            server.start();
            try (Application holder = Application.on(server.url(), settings -> settings);
                    Application waiter = Application.on(server.url(), settings -> settings);
                    Connection sleeper = DriverManager.getConnection(server.url())) {
                LockHandle held = holder.locks().acquire(REQUEST);
                Call<LockHandle> waiting =
                        Call.start("acquire", () -> waiter.locks().acquire(REQUEST));
                await().atMost(SOON)
                        .until(() -> server.count("select 1 from lock_node where bell is not null") == 1
                                && server.count("select 1 from lock_waiter") == 1);
                fillQueue(server, sleeper);

                assertThat(held.release()).isEqualTo(ReleaseOutcome.RELEASED);
                assertThat(waiting.awaitOutcome(SOON).value())
                        .isNotNull()
                        .satisfies(lock -> assertThat(lock.state()).isEqualTo(LockState.HELD));
            }
        }
    }

    private static void fillQueue(PostgresServer server, Connection sleeper) throws SQLException {
        try (Statement statement = sleeper.createStatement();
                Connection notifying = DriverManager.getConnection(server.url());
                Statement fills = notifying.createStatement()) {
            statement.execute("listen other");
            sleeper.setAutoCommit(false);
            statement.execute("select 1");
            assertThatExceptionOfType(SQLException.class)
                    .isThrownBy(() -> {
                        for (int page = 0; page < 100; page++) {
                            fills.execute("select pg_notify('other', repeat('x', 7000))");
                        }
                    })
                    .withMessageContaining("too many notifications");
        }
    }
}
