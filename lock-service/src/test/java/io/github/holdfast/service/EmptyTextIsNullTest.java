package io.github.holdfast.service;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.election.ElectionRequest;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.semaphore.SemaphoreRequest;
import io.github.holdfast.task.TaskRequest;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * A database in which an empty text is null, as MariaDB's is with <a
 * href="https://mariadb.com/docs/server/server-management/variables-and-modes/sql_mode">EMPTY_STRING_IS_NULL</a>. Each list begins with
 * its first page.
 */
@OnDatabase(TestDatabase.MARIADB)
class EmptyTextIsNullTest {

    private static final Map<String, Function<LockAdmin, Collection<?>>> LISTS = Map.of(
            "held", admin -> admin.held("", 10),
            "found", admin -> admin.held(LockFilter.all().in(LockFilter.State.WAITED_FOR), "", 10),
            "nodes", admin -> admin.nodes("", 10),
            "elections", admin -> admin.elections("", 10),
            "last runs", admin -> admin.lastRuns("", 10),
            "semaphores", admin -> admin.semaphores().page("", 10),
            "permits", admin -> admin.semaphores().permits("semaphore"),
            "holders", admin -> admin.holders("shared"),
            "queues", admin -> admin.queues(10));

    private Database database;
    private Services services;
    private LockService locks;

    @BeforeEach
    void open(Database database) {
        this.database = database;
        services = Services.on(database);
        Services.emptyTables(database);
        locks = services.open(pool ->
                pool.setConnectionInitSql("set session sql_mode = concat(@@sql_mode, ',EMPTY_STRING_IS_NULL')"));
    }

    @AfterEach
    void close() throws Exception {
        services.close();
    }

    @Test
    void everyListHasItsFirstPage() throws Exception {
        LockHandle held = locks.acquire(LockRequest.of("held"));
        LockHandle shared = locks.acquire(LockRequest.of("shared").shared());
        LockHandle permit =
                locks.semaphore(SemaphoreRequest.of("semaphore").limit(2)).acquire();
        locks.task(TaskRequest.of("task").every(ofHours(1))).runIfDue(lock -> {});
        LeaderElection election = locks.election(ElectionRequest.of("election"));
        election.start();
        await().atMost(ofSeconds(60)).until(election::isLeader);
        LockService other = services.open();
        CompletableFuture<Void> waiting = CompletableFuture.runAsync(
                () -> other.acquireUninterruptibly(LockRequest.of("held").waitAtMost(ofSeconds(60)))
                        .close(),
                task -> new Thread(task).start());
        await().atMost(ofSeconds(60)).until(() -> !other.admin().queues(10).isEmpty());

        LISTS.forEach((name, list) -> {
            int size = list.apply(other.admin()).size();
            assertThat(size).as(name).isPositive();
            assertThat(list.apply(locks.admin())).as(name).hasSize(size);
        });

        List.of(held, shared, permit).forEach(LockHandle::close);
        waiting.join();
    }

    @Test
    void housekeepingFindsWhatItCleans() throws Exception {
        LockService other = services.open();
        other.acquire(LockRequest.of("left")).detach();
        String node = other.find("left").orElseThrow().nodeId();
        database.execute(
                "update lock_node set expires_at = utc_timestamp(6) - interval 1 hour where id = '" + node + "'");

        assertThat(locks.admin().housekeep())
                .satisfies(report -> assertThat(report.nodesEnded()).isEqualTo(1));
        assertThat(locks.tryAcquire(LockRequest.of("left"))).isPresent();
    }
}
