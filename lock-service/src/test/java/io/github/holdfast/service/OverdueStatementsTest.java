package io.github.holdfast.service;

import static io.github.holdfast.test.TestDatabase.MARIADB;
import static io.github.holdfast.test.TestDatabase.MYSQL;
import static io.github.holdfast.test.TestDatabase.POSTGRESQL;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.Proxy;
import java.sql.Connection;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A foreign session has the row of a lock locked, and the server would let a statement wait for it for long. */
@Tag("outage")
@OnEachDatabase({POSTGRESQL, MARIADB, MYSQL}) // Those that let a statement wait for long.
class OverdueStatementsTest {

    private static final LockRequest REQUEST = LockRequest.of("overdue");

    /** Less than the 50 s for which MySQL and MariaDB let a statement wait. */
    private static final Duration SOON = ofSeconds(60);

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void whatWaitsForTheRowIsCancelledAndNothingElse(boolean autoCommit, Database database) throws Exception {
        Set<Thread> threads = Services.threads();
        try (Services services = Services.on(database)) {
            HikariDataSource pool = services.opened(database.pool(config -> {
                config.setAutoCommit(autoCommit);
                // What is executed next has the connection of what was cancelled.
                config.setMaximumPoolSize(1);
            }));
            LockService mine = services.build(pool, LockServiceBuilder::withoutHousekeeping);
            for (int time = 0; time < 3; time++) {
                assertWaitIsCancelled(mine, database);
            }
        }
        await().atMost(SOON).until(() -> threads.containsAll(Services.threads()));
    }

    /** A pool's statement knows its connection; MySQL's own, asked for it, waits until it has been executed. */
    @Test
    void whatWaitsForTheRowIsCancelledWithoutAPool(Database database) throws Exception {
        try (Services services = Services.on(database)) {
            assertWaitIsCancelled(
                    services.build(database.dataSource(), LockServiceBuilder::withoutHousekeeping), database);
        }
    }

    private static void assertWaitIsCancelled(LockService mine, Database database) throws Exception {
        LockHandle before = mine.acquire(REQUEST.waitAtMost(SOON));
        before.close();
        try (Connection other = TestRows.of(database).locking(REQUEST.name())) {
            long start = System.nanoTime();
            assertThat(mine.tryAcquire(REQUEST)).isEmpty();
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(ofSeconds(40));
            other.rollback();
        }
        LockHandle after = mine.acquire(REQUEST.waitAtMost(SOON));
        assertThat(after.fencingToken()).isGreaterThan(before.fencingToken());
        assertThat(after.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    /** Drivers differ in what they do when they are asked again, and PostgreSQL's does not tell of a failure. */
    @Test
    void aCancellationThatDidNotReachTheServerIsRepeated(Database database) throws Exception {
        try (Proxy proxy = Proxy.to(database.url());
                Services services = Services.on(database)) {
            HikariDataSource pool = services.opened(database.pool(config -> {
                config.setJdbcUrl(proxy.url());
                config.setMaximumPoolSize(1);
            }));
            LockService mine = services.build(pool, LockServiceBuilder::withoutHousekeeping);
            mine.acquire(REQUEST).close();
            proxy.set(Proxy.Mode.REFUSE);
            try (Connection other = TestRows.of(database).locking(REQUEST.name())) {
                CompletableFuture<Boolean> granted = CompletableFuture.supplyAsync(
                        () -> mine.tryAcquire(REQUEST).isPresent(), task -> new Thread(task).start());
                await().atMost(SOON).until(() -> proxy.refused() > 0);
                assertThat(granted).isNotDone();
                proxy.set(Proxy.Mode.PASS);
                assertThat(granted).succeedsWithin(SOON).isEqualTo(false);
                other.rollback();
            }
            mine.acquire(REQUEST.waitAtMost(SOON)).close();
        }
    }
}
