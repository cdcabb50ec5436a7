package io.github.holdfast.shedlock;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.shedlock.Nodes.Node;
import io.github.holdfast.test.Database;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntFunction;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.support.LockException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;

/** Two applications on one database, and a new name for each test. */
@TestInstance(Lifecycle.PER_CLASS)
abstract class ProviderContract {

    /** Longer than anything takes that must happen. */
    static final Duration SOON = ofSeconds(30);

    /** Not over before the test is. */
    static final Duration LONG = ofMinutes(5);

    Nodes nodes;
    Node one;
    Node other;
    String name;

    @BeforeAll
    void openNodes(Database database) {
        nodes = Nodes.on(database);
        one = nodes.open();
        other = nodes.open();
    }

    @AfterAll
    void closeNodes() throws Exception {
        nodes.close();
    }

    @BeforeEach
    void newName() {
        name = "job " + UUID.randomUUID();
    }

    LockConfiguration configuration(Duration atMost, Duration atLeast) {
        return new LockConfiguration(Instant.now(), name, atMost, atLeast);
    }

    Optional<SimpleLock> lock(LockProvider provider) {
        return provider.lock(configuration(LONG, ZERO));
    }

    SimpleLock taken(LockProvider provider) {
        return taken(provider, LONG, ZERO);
    }

    SimpleLock taken(LockProvider provider, Duration atMost, Duration atLeast) {
        return provider.lock(configuration(atMost, atLeast)).orElseThrow(() -> new AssertionError("refused"));
    }

    /** Acquires a lock that becomes free soon. */
    SimpleLock awaited(LockProvider provider) {
        return await().atMost(SOON)
                .pollInterval(Duration.ofMillis(10))
                .until(() -> lock(provider), Optional::isPresent)
                .orElseThrow();
    }

    void assertRefused(LockProvider provider) {
        assertThat(lock(provider)).isEmpty();
    }

    void assertFree(LockProvider provider) {
        taken(provider).unlock();
    }

    /** Lets two threads of each provider acquire the lock again and again, and returns how many had it at once. */
    int mostAtOnce(List<LockProvider> providers) throws Exception {
        LockConfiguration configuration = configuration(LONG, ZERO);
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        together(providers.size() * 2, thread -> () -> {
            LockProvider mine = providers.get(thread % providers.size());
            for (int times = 0; times < 15; times++) {
                SimpleLock lock = await().atMost(SOON)
                        .pollInterval(Duration.ofMillis(10))
                        // Where the machine is slow, a statement waits for the row for too long.
                        .ignoreExceptionsInstanceOf(LockException.class)
                        .until(() -> mine.lock(configuration), Optional::isPresent)
                        .orElseThrow();
                most.accumulateAndGet(inside.incrementAndGet(), Math::max);
                LockSupport.parkNanos(2_000_000); // The work.
                inside.decrementAndGet();
                lock.unlock();
            }
            return true;
        });
        return most.get();
    }

    static Duration since(long nanoTime) {
        return Duration.ofNanos(System.nanoTime() - nanoTime);
    }

    /** Lets threads begin their work at the same moment, and returns their results. */
    static <T> List<T> together(int threads, IntFunction<Callable<T>> work) throws Exception {
        CyclicBarrier start = new CyclicBarrier(threads);
        ExecutorService executor = Executors.newFixedThreadPool(threads);
        try {
            List<Future<T>> futures = new ArrayList<>();
            for (int thread = 0; thread < threads; thread++) {
                Callable<T> mine = work.apply(thread);
                futures.add(executor.submit(() -> {
                    start.await();
                    return mine.call();
                }));
            }
            List<T> results = new ArrayList<>();
            for (Future<T> future : futures) {
                results.add(future.get());
            }
            return results;
        } finally {
            executor.shutdownNow();
        }
    }
}
