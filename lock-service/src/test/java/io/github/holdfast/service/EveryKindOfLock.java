package io.github.holdfast.service;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.election.ElectionRequest;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.DatabaseRisk;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.repository.store.PersistenceUnit;
import io.github.holdfast.semaphore.SemaphoreRequest;
import io.github.holdfast.task.TaskLock;
import io.github.holdfast.task.TaskOutcome;
import io.github.holdfast.task.TaskRequest;
import io.github.holdfast.test.Database;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/** Every kind of lock, each list, and housekeeping, of two services on one database that has no other locks. */
final class EveryKindOfLock {

    private static final List<String> TABLES =
            List.of("distributed_lock", "lock_node", "lock_holder", "lock_waiter", "lock_run", "lock_audit");

    private static final Duration SOON = ofSeconds(60);
    private static final Duration LEASE = ofSeconds(90);

    private static final Map<String, Function<LockAdmin, Collection<?>>> LISTS = Map.of(
            "held", admin -> admin.held("", 10),
            "found", admin -> admin.held(LockFilter.all().in(LockFilter.State.WAITED_FOR), "", 10),
            "nodes", admin -> admin.nodes("", 10),
            "elections", admin -> admin.elections("", 10),
            "last runs", admin -> admin.lastRuns("", 10),
            "semaphores", admin -> admin.semaphores().page("", 10),
            "permits", admin -> admin.semaphores().permits("semaphore"),
            "holders", admin -> admin.holders("shared"),
            "queues", admin -> admin.queues(10),
            "acts", admin -> admin.audit("forced", 10));

    private final LockService mine;
    private final LockService theirs;
    private final TransactionTemplate transaction;
    private final JdbcTemplate jdbc;

    private EveryKindOfLock(LockService mine, LockService theirs, TransactionTemplate transaction, JdbcTemplate jdbc) {
        this.mine = mine;
        this.theirs = theirs;
        this.transaction = transaction;
        this.jdbc = jdbc;
    }

    /**
     * Fails if one of them does not work.
     *
     * @param pool changes the connections
     * @param properties those of the persistence unit
     * @param applications classes that the persistence unit manages besides those of the locks
     */
    static void use(Database database, Consumer<HikariConfig> pool, Map<String, ?> properties, Class<?>... applications)
            throws Exception {
        HikariDataSource connections = database.pool(pool);
        LockSchema.on(connections).createIfMissing();
        JdbcTemplate jdbc = new JdbcTemplate(connections);
        for (String table : TABLES) {
            jdbc.execute("truncate table " + table);
        }
        Class<?>[] managed = Stream.concat(LockEntity.ENTITIES.stream(), Stream.of(applications))
                .toArray(Class<?>[]::new);
        try (connections;
                EntityManagerFactory unit = PersistenceUnit.of(connections, properties, managed)) {
            JpaTransactionManager transactions = new JpaTransactionManager(unit);
            try (LockService mine = service(unit, transactions);
                    LockService theirs = service(unit, transactions)) {
                new EveryKindOfLock(mine, theirs, new TransactionTemplate(transactions), jdbc).use();
            }
        }
    }

    private static LockService service(EntityManagerFactory unit, JpaTransactionManager transactions) {
        return LockService.builder(unit)
                .transactionManager(transactions)
                .accept(DatabaseRisk.UNFLUSHED_COMMITS)
                .build();
    }

    private void use() throws Exception {
        useLocks();
        usePermits();
        useTask();
        List<LockHandle> held = List.of(
                mine.acquire(LockRequest.of("held")),
                mine.acquire(LockRequest.of("leased").lease(LEASE)),
                mine.acquire(LockRequest.of("shared").shared()),
                mine.semaphore(SemaphoreRequest.of("semaphore").limit(2)).acquire());
        list(held);
        tidyUp();
    }

    private void useLocks() throws Exception {
        LockRequest leased = LockRequest.of("lock").lease(LEASE);
        for (LockRequest request :
                List.of(LockRequest.of("lock"), leased.minimumHold(Duration.ofMillis(1)), leased.fair())) {
            LockHandle lock = mine.acquire(request);
            assertThat(theirs.tryAcquire(request)).isEmpty();
            assertThat(theirs.find("lock")).isPresent();
            LockHandle nested = mine.acquire(request);
            assertThat(nested.release()).isEqualTo(ReleaseOutcome.STILL_HELD);
            lock.renew(ofSeconds(20));
            transaction.executeWithoutResult(status -> lock.guard());
            assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
        }
        for (LockRequest request : List.of(LockRequest.of("lock").shared(), leased.shared())) {
            try (LockHandle one = mine.acquire(request);
                    LockHandle another = theirs.acquire(request.waitAtMost(SOON))) {
                assertThat(another.release()).isEqualTo(ReleaseOutcome.RELEASED);
                assertThat(theirs.tryAcquire(LockRequest.of("lock"))).isEmpty();
                one.renew(ofSeconds(20));
                transaction.executeWithoutResult(status -> one.guard());
            }
        }
        try (LockHandle downgraded = mine.acquire(LockRequest.of("lock")).downgrade()) {
            theirs.acquire(LockRequest.of("lock").shared()).close();
            assertThat(theirs.tryAcquire(LockRequest.of("lock"))).isEmpty();
            assertThat(downgraded.release()).isEqualTo(ReleaseOutcome.RELEASED);
        }
        LockRequest row = LockRequest.of("lock").rowLock();
        try (LockHandle lock = mine.acquire(row)) {
            assertThat(theirs.tryAcquire(row)).isEmpty();
            assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
        }
        transaction.executeWithoutResult(status -> {
            mine.acquireUninterruptibly(row).guard();
        });
    }

    private void usePermits() throws Exception {
        SemaphoreRequest leased = SemaphoreRequest.of("permits").limit(2).lease(LEASE);
        for (SemaphoreRequest request : List.of(SemaphoreRequest.of("permits").limit(2), leased)) {
            try (LockHandle one = mine.semaphore(request).acquire();
                    LockHandle another = theirs.semaphore(request).acquire()) {
                assertThat(theirs.semaphore(request).tryAcquire()).isEmpty();
                one.renew(ofSeconds(20));
                transaction.executeWithoutResult(status -> one.guard());
                assertThat(another.release()).isEqualTo(ReleaseOutcome.RELEASED);
            }
        }
    }

    private void useTask() {
        TaskRequest daily = TaskRequest.of("task").every(ofDays(365));
        TaskLock task = mine.task(daily);
        assertThat(task.runIfDue(lock -> {})).isEqualTo(TaskOutcome.SUCCEEDED);
        assertThat(task.runIfDue(lock -> {})).isEqualTo(TaskOutcome.NOT_DUE);
        assertThat(theirs.task(daily).runIfDue(lock -> {})).isEqualTo(TaskOutcome.NOT_DUE);
    }

    private void list(List<LockHandle> held) throws Exception {
        LeaderElection election = mine.election(ElectionRequest.of("election"));
        election.start();
        await().atMost(SOON).until(election::isLeader);
        mine.acquire(LockRequest.of("forced"));
        assertThat(theirs.admin().forceRelease("forced", "for the test")).isPresent();
        CompletableFuture<Void> waiting = CompletableFuture.runAsync(
                () -> theirs.acquireUninterruptibly(LockRequest.of("leased").waitAtMost(SOON.plus(SOON)))
                        .close(),
                task -> new Thread(task).start());
        await().atMost(SOON).until(() -> !theirs.admin().queues(10).isEmpty());
        LISTS.forEach((name, list) -> {
            int size = list.apply(theirs.admin()).size();
            assertThat(size).as(name).isPositive();
            assertThat(list.apply(mine.admin())).as(name).hasSize(size);
        });
        held.forEach(handle -> assertThat(handle.release()).isEqualTo(ReleaseOutcome.RELEASED));
        waiting.join();
        election.close();
    }

    private void tidyUp() throws Exception {
        theirs.acquire(LockRequest.of("left")).detach();
        String node = theirs.find("left").orElseThrow().nodeId();
        jdbc.update("update lock_node set expires_at = timestamp '2020-01-02 03:04:05' where id = ?", node);
        assertThat(mine.admin().housekeep().nodesEnded()).isEqualTo(1);
        mine.tryAcquire(LockRequest.of("left")).orElseThrow().close();
    }
}
