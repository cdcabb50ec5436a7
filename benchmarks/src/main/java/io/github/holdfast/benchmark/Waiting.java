package io.github.holdfast.benchmark;

import io.github.holdfast.benchmark.contestant.Contestant;
import io.github.holdfast.benchmark.contestant.Kind;
import io.github.holdfast.benchmark.contestant.Latencies;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * The results of W5: the cost of waiting for a lock of another node, and the delay until a waiter notices its release.
 *
 * @param roundTripsPerSecond the round trips of 32 threads of one node that wait for one name, after the first second
 * @param connections the maximum number of connections that these threads use, in 100 samples
 * @param wakeUps the delays with one waiter and a release at a random time
 */
record Waiting(double roundTripsPerSecond, int connections, WakeUps wakeUps) {

    private static final int WAITERS = 32;
    private static final int LOOKS = 100;

    /**
     * The delays until the next grant.
     *
     * @param sinceCall since the call of the release, which is a write
     * @param sinceReturn since the return of the release
     */
    record WakeUps(Latencies sinceCall, Latencies sinceReturn) {}

    static Waiting measure(Arena arena, Kind kind, Duration time, int releases) throws Exception {
        Contestant holder = arena.locks(kind);
        try (Arena.CountedNode waiting = arena.counted(kind)) {
            Contestant.Held held = holder.acquire("w5");
            ExecutorService threads = Executors.newFixedThreadPool(WAITERS);
            List<Future<?>> waiters = new ArrayList<>();
            for (int waiter = 0; waiter < WAITERS; waiter++) {
                waiters.add(threads.submit(() -> {
                    waiting.node().locks().acquire("w5").release();
                    return null;
                }));
            }
            TimeUnit.SECONDS.sleep(1);
            long before = waiting.proxy().roundTrips();
            int connections = 0;
            for (int look = 0; look < LOOKS; look++) {
                TimeUnit.NANOSECONDS.sleep(time.toNanos() / LOOKS);
                connections = Math.max(connections, waiting.node().busyConnections());
            }
            double perSecond = (waiting.proxy().roundTrips() - before) * 1e9 / time.toNanos();
            held.release();
            for (Future<?> waiter : waiters) {
                waiter.get();
            }
            threads.shutdown();
            return new Waiting(
                    perSecond, connections, wakeUps(holder, waiting.node().locks(), releases));
        }
    }

    private static WakeUps wakeUps(Contestant holder, Contestant waiter, int releases) throws Exception {
        WakeUps wakeUps = new WakeUps(new Latencies(), new Latencies());
        for (int release = 0; release < releases; release++) {
            Contestant.Held held = holder.acquire("w5 one");
            CompletableFuture<Long> granted = CompletableFuture.supplyAsync(() -> acquire(waiter));
            TimeUnit.MILLISECONDS.sleep(ThreadLocalRandom.current().nextInt(200, 500));
            long called = System.nanoTime();
            held.release();
            long returned = System.nanoTime();
            wakeUps.sinceCall().add(granted.get() - called);
            wakeUps.sinceReturn().add(granted.get() - returned);
        }
        return wakeUps;
    }

    /** Acquires the lock, and returns the time of the grant. */
    private static long acquire(Contestant waiter) {
        try {
            Contestant.Held held = waiter.acquire("w5 one");
            long granted = System.nanoTime();
            held.release();
            return granted;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
