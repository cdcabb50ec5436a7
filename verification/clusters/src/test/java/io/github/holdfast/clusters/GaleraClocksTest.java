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
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.LockSchema;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/**
 * Locks without a lease on a Galera cluster whose servers have clocks of their own: one is right, one is ahead, one is behind, each by
 * several node leases, and two are faster or slower by two percent. A service writes to each. One after the other is killed. {@code -Dholdfast.clocks.seconds} sets how long.
 */
@Tag("cluster")
@TestInstance(Lifecycle.PER_CLASS)
class GaleraClocksTest {

    private static final Duration SOON = ofSeconds(60);
    private static final Duration NODE_LEASE = ofSeconds(3);
    private static final Duration DURATION = ofSeconds(Integer.getInteger("holdfast.clocks.seconds", 20));
    private static final Duration PERIOD = ofSeconds(7);
    private static final int NAMES = 3;

    private final GaleraCluster cluster =
            GaleraCluster.start(List.of(GaleraNode.USUAL_CLOCK, "+20s x1.02", "-20s x0.98"));
    private final Queue<LockLost> losses = new ConcurrentLinkedQueue<>();
    private final Queue<Shop> shops = new ConcurrentLinkedQueue<>();
    private final Set<Shop> dead = ConcurrentHashMap.newKeySet();

    @AfterAll
    void close() {
        shops.forEach(Shop::close);
        cluster.close();
    }

    private Shop on(int server) {
        AtomicReference<Shop> self = new AtomicReference<>();
        Shop shop = Shop.on(
                cluster.url(server),
                builder -> builder.nodeLease(NODE_LEASE).listener(new LockListener() {
                    @Override
                    public void lost(LockLost lost) {
                        if (!dead.contains(self.get())) {
                            losses.add(lost);
                        }
                    }
                }));
        self.set(shop);
        shops.add(shop);
        return shop;
    }

    private void kill(Shop shop) {
        dead.add(shop);
        shop.loseConnections();
    }

    @Test
    void aLockHasOneHolderWhateverTheClocksSay() throws Exception {
        LockSchema.on(new DriverManagerDataSource(cluster.url(0))).createIfMissing();
        await().atMost(SOON)
                .until(() -> cluster.queryForLong(
                                2, "select count(*) from information_schema.tables where table_name = 'lock_waiter'")
                        == 1);
        Work work = new Work();
        int killed = work.run(DURATION);
        System.out.println("Clocks of Galera: " + work + ", " + killed + " services killed");
        assertThat(work.overlaps).hasValue(0);
        assertThat(losses).isEmpty();
        assertThat(work.grants.get()).isGreaterThan(100);
        // Each service that was killed may have had a node, and no other one was ended.
        assertThat(cluster.queryForLong(0, "select count(*) from shop.lock_node where ended"))
                .isLessThanOrEqualTo(killed);

        Shop dying = on(1);
        LockHandle left = dying.locks().acquire(LockRequest.of("left").waitAtMost(SOON));
        kill(dying);
        try (LockHandle next = on(2).locks().acquire(LockRequest.of("left").waitAtMost(SOON))) {
            assertThat(left.remaining()).as("the former holder's").isZero();
            assertThat(next.fencingToken()).isGreaterThan(left.fencingToken());
        }
    }

    /** Threads of each service that hold the locks for a moment, or for longer than a node lease, while services are killed. */
    private final class Work {

        private final Map<String, AtomicReference<LockHandle>> holders = new ConcurrentHashMap<>();
        private final AtomicInteger grants = new AtomicInteger();
        private final AtomicInteger refusals = new AtomicInteger();
        private final AtomicInteger overlaps = new AtomicInteger();
        private volatile boolean isOver;

        /** Returns how many services were killed. */
        int run(Duration duration) throws Exception {
            ExecutorService threads = Executors.newCachedThreadPool();
            List<Future<?>> work = new ArrayList<>();
            try {
                List<Shop> running = new ArrayList<>();
                for (int server = 0; server < GaleraCluster.NODES; server++) {
                    running.add(begin(server, threads, work));
                }
                int killed = 0;
                for (long passed = 0; passed < duration.toSeconds(); passed += PERIOD.toSeconds()) {
                    boolean unused = new CountDownLatch(1).await(PERIOD.toMillis(), TimeUnit.MILLISECONDS);
                    int server = killed++ % GaleraCluster.NODES;
                    kill(running.get(server));
                    running.set(server, begin(server, threads, work));
                }
                isOver = true;
                for (Future<?> each : work) {
                    each.get();
                }
                return killed;
            } finally {
                isOver = true;
                threads.shutdownNow();
            }
        }

        private Shop begin(int server, ExecutorService threads, List<Future<?>> work) {
            Shop shop = on(server);
            for (int name = 0; name < NAMES; name++) {
                String lock = "lock " + name;
                work.add(threads.submit(() -> holdAgainAndAgain(shop, lock)));
            }
            return shop;
        }

        private void holdAgainAndAgain(Shop shop, String name) {
            AtomicReference<LockHandle> holder = holders.computeIfAbsent(name, first -> new AtomicReference<>());
            while (!isOver && !dead.contains(shop)) {
                try {
                    LockHandle lock = shop.locks().acquire(LockRequest.of(name).waitAtMost(SOON));
                    LockHandle before = holder.getAndSet(lock);
                    grants.incrementAndGet();
                    if (before != null && !before.remaining().isZero()) {
                        overlaps.incrementAndGet();
                    }
                    boolean isLong = ThreadLocalRandom.current().nextInt(50) == 0;
                    LockSupport.parkNanos((isLong ? NODE_LEASE.multipliedBy(2) : ofMillis(2)).toNanos());
                    if (!dead.contains(shop)) {
                        holder.compareAndSet(lock, null);
                        ReleaseOutcome unused = lock.release();
                    }
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
