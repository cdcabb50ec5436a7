package io.github.holdfast.clusters;

import static io.github.holdfast.clusters.Contenders.SOON;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.LockSchema;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
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

    private static final Duration NODE_LEASE = ofSeconds(3);
    private static final Duration DURATION = ofSeconds(Integer.getInteger("holdfast.clocks.seconds", 20));
    private static final Duration PERIOD = ofSeconds(7);

    private final GaleraCluster cluster =
            GaleraCluster.start(List.of(GaleraNode.USUAL_CLOCK, "+20s x1.02", "-20s x0.98"));
    private final Contenders services = new Contenders(NODE_LEASE);

    @AfterAll
    void close() {
        services.close();
        cluster.close();
    }

    @Test
    void aLockHasOneHolderWhateverTheClocksSay() throws Exception {
        LockSchema.on(new DriverManagerDataSource(cluster.url(0))).createIfMissing();
        await().atMost(SOON)
                .until(() -> cluster.queryForLong(
                                2, "select count(*) from information_schema.tables where table_name = 'lock_waiter'")
                        == 1);
        int killed = contend();
        System.out.println("Clocks of Galera: " + services + ", " + killed + " services killed");
        assertThat(services.overlaps()).isZero();
        assertThat(services.losses()).isEmpty();
        assertThat(services.grants()).isGreaterThan(100);
        // Each service that was killed may have had a node, and no other one was ended.
        assertThat(cluster.queryForLong(0, "select count(*) from shop.lock_node where ended"))
                .isLessThanOrEqualTo(killed);

        Shop dying = services.idle(cluster.url(1));
        LockHandle left = dying.locks().acquire(LockRequest.of("left").waitAtMost(SOON));
        services.kill(dying);
        Shop next = services.idle(cluster.url(2));
        try (LockHandle lock = next.locks().acquire(LockRequest.of("left").waitAtMost(SOON))) {
            assertThat(left.remaining()).as("the former holder's").isZero();
            assertThat(lock.fencingToken()).isGreaterThan(left.fencingToken());
        }
    }

    /** Returns how many services were killed. */
    private int contend() throws Exception {
        List<Shop> running = new ArrayList<>();
        for (int server = 0; server < GaleraCluster.NODES; server++) {
            running.add(services.begin(cluster.url(server)));
        }
        int killed = 0;
        for (long passed = 0; passed < DURATION.toSeconds(); passed += PERIOD.toSeconds()) {
            boolean unused = new CountDownLatch(1).await(PERIOD.toMillis(), TimeUnit.MILLISECONDS);
            int server = killed++ % GaleraCluster.NODES;
            services.kill(running.get(server));
            running.set(server, services.begin(cluster.url(server)));
        }
        services.end();
        return killed;
    }
}
