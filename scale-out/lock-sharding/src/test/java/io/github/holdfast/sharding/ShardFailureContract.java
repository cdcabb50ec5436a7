package io.github.holdfast.sharding;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariConfig;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.RestartableDatabase;
import io.github.holdfast.test.TestDatabase;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** The server of one shard is killed. */
abstract class ShardFailureContract {

    private static final Duration SOON = ofMinutes(2);

    /** The connection timeout of each pool. A call of a killed server lasts about as long. */
    private static final Duration CONNECTION_TIMEOUT = ofSeconds(3);

    private static final Sharding SHARDING = Sharding.byPrefix(Map.of("a:", "a", "b:", "b", "moves:", "a"));
    private static final Sharding NEXT = Sharding.byPrefix(Map.of("a:", "a", "b:", "b", "moves:", "b"));

    abstract TestDatabase killed();

    private static LockRequest lock(String name) {
        return LockRequest.of(name).waitAtMost(ofMillis(500));
    }

    /** As someone would set them who wants to be told when the database is away. */
    private void withTimeouts(HikariConfig pool) {
        pool.setMaximumPoolSize(4);
        pool.setConnectionTimeout(CONNECTION_TIMEOUT.toMillis());
        pool.setValidationTimeout(1000);
        switch (killed()) {
            case POSTGRESQL -> {
                pool.addDataSourceProperty("connectTimeout", "3");
                pool.addDataSourceProperty("socketTimeout", "15");
            }
            case MARIADB, MYSQL -> {
                pool.addDataSourceProperty("connectTimeout", "3000");
                pool.addDataSourceProperty("socketTimeout", "15000");
            }
            default -> pool.addDataSourceProperty("NETWORK_TIMEOUT", "15000");
        }
    }

    @Test
    void theOtherShardsLocksAreNotConcerned(Database first) throws Exception {
        ExecutorService threads = Executors.newCachedThreadPool();
        try (RestartableDatabase second = RestartableDatabase.start(killed());
                Nodes nodes = new Nodes()) {
            Nodes.withTables(first);
            Nodes.withTables(second.database());
            LockService a = nodes.open(first).locks();
            LockService b = nodes.open(
                            second.database(), this::withTimeouts, builder -> builder.nodeLease(ofSeconds(3)))
                    .locks();
            ShardedLocks locks = ShardedLocks.of(Map.of("a", a, "b", b), SHARDING);
            ShardedLocks moving = locks.movingTo(NEXT, Instant.EPOCH);
            LockHandle heldA = locks.acquire(lock("a:held"));
            LockHandle heldB = locks.acquire(lock("b:held"));
            AtomicBoolean isBack = new AtomicBoolean();
            Cycles cycles = new Cycles();
            Future<?> cycling = threads.submit(() -> {
                cycles.run(locks, isBack);
                return null;
            });

            second.kill();
            assertThatExceptionOfType(LockStoreException.class).isThrownBy(() -> locks.acquire(lock("b:1")));
            assertThatExceptionOfType(LockStoreException.class).isThrownBy(() -> locks.find("b:1"));
            assertThatExceptionOfType(LockStoreException.class).isThrownBy(() -> locks.held("", 10));
            assertThatExceptionOfType(LockStoreException.class)
                    .isThrownBy(() -> locks.acquireAll(List.of(lock("b:2"), lock("a:2"))));
            assertThatExceptionOfType(LockStoreException.class).isThrownBy(() -> moving.acquire(lock("moves:1")));
            assertThatExceptionOfType(LockStoreException.class)
                    .isThrownBy(() -> moving.tryAcquire(LockRequest.of("moves:2")));
            assertThat(a.admin().held("", 10))
                    .as("nothing is left of what failed on the other shard")
                    .allSatisfy(held -> assertThat(held.name()).isIn("a:held", "a:cycle"));
            long before = cycles.all.get();
            await().atMost(SOON).until(() -> heldB.state() == LockState.LOST);
            await().atMost(SOON).until(() -> cycles.all.get() >= before + 100 || cycling.isDone());

            second.restart();
            await().atMost(SOON)
                    .ignoreExceptions()
                    .untilAsserted(() ->
                            locks.acquireAll(List.of(lock("b:3"), lock("a:3"))).close());
            isBack.set(true);
            cycling.get(SOON.toSeconds(), SECONDS);
            assertThat(cycles.slow.get())
                    .as("slow ones of %s cycles", cycles.all)
                    .isLessThan(cycles.all.get() / 20);
            assertThat(heldA.state()).isEqualTo(LockState.HELD);
            assertThat(heldA.release()).isEqualTo(ReleaseOutcome.RELEASED);
            assertThat(heldB.release()).isEqualTo(ReleaseOutcome.LOST);
        } finally {
            threads.shutdownNow();
        }
    }

    /** Cycles of a lock of the other shard. A few may be slow, because the servers have one machine. */
    private static final class Cycles {

        /** A cycle that waits for the killed server takes longer than this. */
        private static final Duration SLOW = CONNECTION_TIMEOUT.minusMillis(500);

        final AtomicLong all = new AtomicLong();
        final AtomicLong slow = new AtomicLong();

        void run(ShardedLocks locks, AtomicBoolean isOver) throws InterruptedException {
            while (!isOver.get()) {
                long start = System.nanoTime();
                locks.acquire(LockRequest.of("a:cycle").waitAtMost(SOON)).close();
                if (System.nanoTime() - start > SLOW.toNanos()) {
                    slow.incrementAndGet();
                }
                all.incrementAndGet();
                LockSupport.parkNanos(1_000_000);
            }
        }
    }
}
