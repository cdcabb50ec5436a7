package io.github.holdfast.benchmark;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntFunction;

/**
 * Threads that acquire, hold and release as often as they can.
 *
 * @param threadsPerNode how many threads each node has
 * @param name the lock of the thread with this number
 * @param hold for how long a thread keeps the lock
 */
record Load(int threadsPerNode, IntFunction<String> name, Duration hold) {

    /** Runs the load on these nodes. */
    Measurement run(List<Contestant> nodes, Duration time) throws Exception {
        Map<String, Exclusion> locks = new HashMap<>();
        List<Callable<Latencies>> work = new ArrayList<>();
        long start = System.nanoTime();
        long end = start + time.toNanos();
        for (int thread = 0; thread < threadsPerNode * nodes.size(); thread++) {
            Exclusion lock = locks.computeIfAbsent(name.apply(thread), Exclusion::new);
            String own = name.apply(thread);
            Contestant node = nodes.get(thread % nodes.size());
            work.add(() -> loop(node, own, lock, end));
        }
        Latencies waits = new Latencies();
        ExecutorService threads = Executors.newFixedThreadPool(work.size());
        try {
            for (Future<Latencies> thread : threads.invokeAll(work)) {
                waits.addAll(thread.get());
            }
        } finally {
            threads.shutdownNow();
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        long handOvers = locks.values().stream().mapToLong(Exclusion::handOvers).sum();
        return new Measurement(waits.count() / seconds, handOvers / seconds, waits.quantile(0.5), waits.quantile(0.99));
    }

    private Latencies loop(Contestant node, String own, Exclusion lock, long end) throws Exception {
        Latencies waits = new Latencies();
        while (System.nanoTime() - end < 0) {
            long before = System.nanoTime();
            Contestant.Held held = node.acquire(own);
            waits.add(System.nanoTime() - before);
            lock.enter();
            long until = System.nanoTime() + hold.toNanos();
            for (long left = hold.toNanos(); left > 0; left = until - System.nanoTime()) {
                LockSupport.parkNanos(left);
            }
            lock.leave();
            held.release();
        }
        return waits;
    }
}
