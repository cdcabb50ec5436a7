package io.github.holdfast.clusters;

import io.github.holdfast.lock.HoldfastException;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import jakarta.persistence.PersistenceException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.springframework.dao.DataAccessException;
import org.springframework.transaction.TransactionException;

/** Threads of several processes that add to one journal under one lock, as fast as they can. */
final class Clerks {

    private final LockRequest request;
    private final Duration longestPause;
    private final AtomicInteger commits = new AtomicInteger();
    private final AtomicInteger refused = new AtomicInteger();

    /**
     * Some that do not work yet.
     *
     * @param longestPause up to which each of them stops, at random, between reading and writing
     */
    Clerks(LockRequest request, Duration longestPause) {
        this.request = request;
        this.longestPause = longestPause;
    }

    /** Two threads of each shop work for so long. */
    void work(Duration howLong, Shop... shops) throws InterruptedException, ExecutionException {
        long end = System.nanoTime() + howLong.toNanos();
        ExecutorService threads = Executors.newCachedThreadPool();
        try {
            List<Future<?>> working = new ArrayList<>();
            for (Shop shop : shops) {
                for (int thread = 0; thread < 2; thread++) {
                    working.add(threads.submit(() -> {
                        while (System.nanoTime() < end) {
                            add(shop);
                        }
                        return null;
                    }));
                }
            }
            for (Future<?> clerk : working) {
                clerk.get();
            }
        } finally {
            threads.shutdown();
        }
    }

    private void add(Shop shop) throws InterruptedException {
        try (LockHandle lock = shop.locks().acquire(request)) {
            shop.transaction(() -> {
                long last = shop.last();
                LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(longestPause.toNanos() + 1));
                shop.add(lock, last + 1);
            });
            commits.incrementAndGet();
        } catch (HoldfastException | DataAccessException | TransactionException | PersistenceException notCommitted) {
            refused.incrementAndGet();
        }
    }

    /** How many transactions were told to be committed. */
    int commits() {
        return commits.get();
    }

    /** How many were not, or found the lock lost when they released it. */
    int refused() {
        return refused.get();
    }
}
