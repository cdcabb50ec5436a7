package io.github.holdfast.clusters;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.HoldfastException;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockListener;
import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.LockSchema;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/**
 * Locks without a lease on a Galera cluster whose servers have clocks of their own: one is right, one is ahead, one is behind, each by
 * several node leases. A service writes to each. {@code -Dholdfast.clocks.seconds} sets how long.
 */
@Tag("cluster")
@TestInstance(Lifecycle.PER_CLASS)
class GaleraClocksTest {

    private static final Duration SOON = ofSeconds(60);
    private static final Duration NODE_LEASE = ofSeconds(3);
    private static final Duration DURATION = ofSeconds(Integer.getInteger("holdfast.clocks.seconds", 20));
    private static final int NAMES = 3;

    private final GaleraCluster cluster = GaleraCluster.start(List.of(Duration.ZERO, ofSeconds(20), ofSeconds(-20)));
    private final Queue<LockLost> losses = new ConcurrentLinkedQueue<>();
    private final List<Shop> shops = new ArrayList<>();

    @AfterAll
    void close() {
        shops.forEach(Shop::close);
        cluster.close();
    }

    private Shop on(int server) {
        Shop shop = Shop.on(
                cluster.url(server),
                builder -> builder.nodeLease(NODE_LEASE).listener(new LockListener() {
                    @Override
                    public void lost(LockLost lost) {
                        losses.add(lost);
                    }
                }));
        shops.add(shop);
        return shop;
    }

    @Test
    void aLockHasOneHolderWhateverTheClocksSay() throws Exception {
        LockSchema.on(new DriverManagerDataSource(cluster.url(0))).createIfMissing();
        await().atMost(SOON)
                .until(() -> cluster.queryForLong(
                                2, "select count(*) from information_schema.tables where table_name = 'lock_waiter'")
                        == 1);
        List<Shop> services = List.of(on(0), on(1), on(2));

        Work work = new Work(services);
        work.run(DURATION);
        System.out.println("Clocks of Galera: " + work);
        assertThat(work.overlaps).hasValue(0);
        assertThat(losses).isEmpty();
        assertThat(work.grants.get()).isGreaterThan(100);
        assertThat(cluster.queryForLong(0, "select count(*) from shop.lock_node where ended"))
                .as("nodes of living services that were ended")
                .isZero();

        Shop dead = on(1);
        LockHandle left = dead.locks().acquire(LockRequest.of("left").waitAtMost(SOON));
        long died = System.nanoTime();
        dead.loseConnections();
        try (LockHandle next =
                services.get(2).locks().acquire(LockRequest.of("left").waitAtMost(SOON))) {
            assertThat(Duration.ofNanos(System.nanoTime() - died))
                    .as("the holder may believe in it for so long")
                    .isGreaterThan(NODE_LEASE.minus(ofMillis(1500)));
            assertThat(next.fencingToken()).isGreaterThan(left.fencingToken());
        }
    }

    /** Threads of each service that hold the locks for a moment, or for longer than a node lease. */
    private static final class Work {

        private final List<Shop> services;
        private final Map<String, AtomicInteger> holders = new ConcurrentHashMap<>();
        private final AtomicInteger grants = new AtomicInteger();
        private final AtomicInteger refusals = new AtomicInteger();
        private final AtomicInteger overlaps = new AtomicInteger();
        private volatile boolean isOver;

        Work(List<Shop> services) {
            this.services = services;
        }

        void run(Duration duration) throws Exception {
            ExecutorService threads = Executors.newCachedThreadPool();
            try {
                List<Future<?>> work = new ArrayList<>();
                for (Shop shop : services) {
                    for (int name = 0; name < NAMES; name++) {
                        String lock = "lock " + name;
                        work.add(threads.submit(() -> holdAgainAndAgain(shop, lock)));
                    }
                }
                boolean unused =
                        new CountDownLatch(1).await(duration.toMillis(), java.util.concurrent.TimeUnit.MILLISECONDS);
                isOver = true;
                for (Future<?> each : work) {
                    each.get();
                }
            } finally {
                threads.shutdownNow();
            }
        }

        private void holdAgainAndAgain(Shop shop, String name) {
            AtomicInteger held = holders.computeIfAbsent(name, first -> new AtomicInteger());
            while (!isOver) {
                try (LockHandle lock = shop.locks().acquire(LockRequest.of(name).waitAtMost(SOON))) {
                    grants.incrementAndGet();
                    if (held.incrementAndGet() > 1) {
                        overlaps.incrementAndGet();
                    }
                    boolean isLong = ThreadLocalRandom.current().nextInt(50) == 0;
                    LockSupport.parkNanos((isLong ? NODE_LEASE.multipliedBy(2) : ofMillis(2)).toNanos());
                    held.decrementAndGet();
                } catch (HoldfastException refused) {
                    refusals.incrementAndGet();
                } catch (InterruptedException interrupted) {
                    return;
                }
            }
        }

        @Override
        public String toString() {
            return grants + " grants, " + refusals + " refusals, " + overlaps + " overlaps";
        }
    }
}
