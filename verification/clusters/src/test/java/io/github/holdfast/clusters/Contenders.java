package io.github.holdfast.clusters;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;

import io.github.holdfast.lock.HoldfastException;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockListener;
import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.ReleaseOutcome;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/**
 * Services whose threads hold the same locks without a lease, one after the other, for a moment or for longer than a node lease. A lock that is
 * granted while its former holder still believes that it is held is an overlap. Thread-safe.
 */
final class Contenders implements AutoCloseable {

    static final Duration SOON = ofSeconds(60);
    private static final int NAMES = 3;

    private final Duration nodeLease;
    private final Queue<Shop> shops = new ConcurrentLinkedQueue<>();
    private final Set<Shop> dead = ConcurrentHashMap.newKeySet();
    private final Queue<LockLost> losses = new ConcurrentLinkedQueue<>();
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final List<Future<?>> work = new ArrayList<>();
    private final Map<String, AtomicReference<LockHandle>> holders = new ConcurrentHashMap<>();
    private final AtomicInteger grants = new AtomicInteger();
    private final AtomicInteger refusals = new AtomicInteger();
    private final AtomicInteger overlaps = new AtomicInteger();
    private volatile boolean isOver;

    Contenders(Duration nodeLease) {
        this.nodeLease = nodeLease;
    }

    /** A service without threads. */
    Shop idle(String url) {
        AtomicReference<Shop> self = new AtomicReference<>();
        Shop shop = Shop.on(
                url,
                builder -> builder.nodeLease(nodeLease).listener(new LockListener() {
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

    /** A service whose threads begin. */
    Shop begin(String url) {
        Shop shop = idle(url);
        for (int name = 0; name < NAMES; name++) {
            String lock = "lock " + name;
            work.add(threads.submit(() -> holdAgainAndAgain(shop, lock)));
        }
        return shop;
    }

    /** Takes the database from a service, as if its process had died. What it holds is judged by its clock as before. */
    void kill(Shop shop) {
        dead.add(shop);
        shop.loseConnections();
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
                LockSupport.parkNanos((isLong ? nodeLease.multipliedBy(2) : ofMillis(2)).toNanos());
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

    /** Waits until the threads have ended. */
    void end() throws ExecutionException, InterruptedException {
        isOver = true;
        for (Future<?> each : work) {
            each.get();
        }
    }

    int grants() {
        return grants.get();
    }

    int overlaps() {
        return overlaps.get();
    }

    /** The locks that living services have lost. */
    List<LockLost> losses() {
        return List.copyOf(losses);
    }

    @Override
    public String toString() {
        return "%s grants, %s refusals, %s overlaps, %d losses".formatted(grants, refusals, overlaps, losses.size());
    }

    @Override
    public void close() {
        isOver = true;
        threads.shutdownNow();
        shops.forEach(Shop::close);
    }
}
