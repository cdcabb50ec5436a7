package io.github.holdfast.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.annotation.NodeUnit;
import io.github.holdfast.election.ElectionRequest;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The gauges of an application with two lock services. */
@OnDatabase(TestDatabase.H2_TCP)
class LockGaugesTest {

    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
    private final LockMeters meters = LockMeters.of(registry, LockGroup.byPrefix());

    private HikariDataSource pool;
    private EntityManagerFactory unit;
    private LockService first;
    private LockService second;

    @BeforeEach
    void open(Database database) {
        LockSchema.on(database.dataSource()).createIfMissing();
        pool = database.pool(config -> config.setMaximumPoolSize(5));
        unit = NodeUnit.on(pool);
        first = LockService.builder(unit).withoutHousekeeping().build();
        second = LockService.builder(unit).withoutHousekeeping().build();
        meters.observe(first);
        meters.observe(second);
    }

    @AfterEach
    void close() {
        first.close();
        second.close();
        unit.close();
        pool.close();
    }

    private double gauge(String name) {
        return registry.get(name).gauge().value();
    }

    @Test
    void theyAreForAllServices() throws Exception {
        assertThat(gauge("holdfast.heartbeat.age")).isNaN();
        assertThat(gauge("holdfast.clock.step")).isZero();
        CompletableFuture<Void> waiting;
        try (LockHandle unused = second.acquire(LockRequest.of("order:1"))) {
            assertThat(gauge("holdfast.heartbeat.age")).isNotNaN();
            waiting = CompletableFuture.allOf(waitFor(first), waitFor(second));
            await().atMost(Duration.ofSeconds(60)).until(() -> gauge("holdfast.lock.waiting") == 2);
        }
        waiting.join();
        assertThat(gauge("holdfast.lock.waiting")).isZero();
    }

    @Test
    void thatOfAnElectionIsForAllOfItsName() {
        LeaderElection candidate = first.election(ElectionRequest.of("reports"));
        LeaderElection leader = second.election(ElectionRequest.of("reports"));
        meters.observe(candidate);
        meters.observe(leader);
        assertThat(gauge("holdfast.leader")).isZero();
        leader.start();
        await().atMost(Duration.ofSeconds(60)).until(() -> gauge("holdfast.leader") == 1);
    }

    private static CompletableFuture<Void> waitFor(LockService locks) {
        return CompletableFuture.runAsync(() -> {
            try {
                locks.acquire(LockRequest.of("order:1").waitAtMost(Duration.ofSeconds(60)))
                        .close();
            } catch (InterruptedException unexpected) {
                throw new IllegalStateException(unexpected);
            }
        });
    }
}
