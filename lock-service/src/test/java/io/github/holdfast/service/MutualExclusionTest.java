package io.github.holdfast.service;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** At most one owner at a time: shown by counters that lose counts when two increment them at once. */
@Tag(OnEachDatabase.EVERYWHERE)
@OnEachDatabase
class MutualExclusionTest {

    private static final int THREADS = 8;
    private static final int ROUNDS = 25;

    private static final LockRequest REQUEST =
            LockRequest.of("counter").lease(ofSeconds(60)).waitAtMost(ofSeconds(120));

    @Test
    void eightThreadsOfTwoServicesEachLoseNoCount(Database database) throws Exception {
        Counter.create(database);
        AtomicInteger inside = new AtomicInteger();
        try (Services services = Services.on(database)) {
            List<LockService> both = List.of(services.open(), services.open());
            List<Callable<Long>> workers = new ArrayList<>();
            for (int thread = 0; thread < THREADS; thread++) {
                for (LockService service : both) {
                    workers.add(() -> increment(service, database, inside));
                }
            }
            List<Long> lastTokens = all(workers);
            assertThat(Counter.read(database)).isEqualTo(2L * THREADS * ROUNDS);
            assertThat(lastTokens).doesNotHaveDuplicates();
        }
    }

    private static long increment(LockService service, Database database, AtomicInteger inside) throws Exception {
        long lastToken = 0;
        for (int round = 0; round < ROUNDS; round++) {
            try (LockHandle lock = service.acquire(REQUEST)) {
                assertThat(inside.incrementAndGet()).as("holders at once").isEqualTo(1);
                assertThat(lock.fencingToken()).isGreaterThan(lastToken);
                lastToken = lock.fencingToken();
                Counter.increment(database.dataSource());
                inside.decrementAndGet();
            }
        }
        return lastToken;
    }

    @Test
    void oneOfTwentyWinsALockThatHasNoRowYet(Database database) throws Exception {
        try (Services services = Services.on(database)) {
            LockService service = services.open(pool -> pool.setMaximumPoolSize(20));
            for (int round = 0; round < 5; round++) {
                LockRequest request = LockRequest.of("new " + round).lease(ofSeconds(60));
                CyclicBarrier start = new CyclicBarrier(20);
                List<Callable<Optional<LockHandle>>> contenders = new ArrayList<>();
                for (int contender = 0; contender < 20; contender++) {
                    contenders.add(() -> {
                        start.await();
                        return service.tryAcquire(request);
                    });
                }
                assertThat(all(contenders).stream().flatMap(Optional::stream)).hasSize(1);
            }
        }
    }

    private static <T> List<T> all(List<Callable<T>> work) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(work.size());
        try {
            List<T> results = new ArrayList<>();
            for (Future<T> future : threads.invokeAll(work)) {
                results.add(future.get());
            }
            return results;
        } finally {
            threads.shutdownNow();
        }
    }
}
