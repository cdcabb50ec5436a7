package io.github.holdfast.benchmark.contestant;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.LongConsumer;

/**
 * A load of threads that acquire, hold and release locks as often as they can.
 *
 * @param threads the number of threads of a node
 * @param name returns the name of the lock for the number of a thread
 * @param hold how long a thread holds the lock
 */
public record Load(int threads, IntFunction<String> name, Duration hold) {

    /**
     * Runs the load on a node.
     *
     * @param exclusions returns the check of mutual exclusion for the name of a lock
     * @return the wait of each acquisition, including those that ended without the lock
     */
    public Latencies run(Contestant node, Function<String, Exclusion> exclusions, Duration time) throws Exception {
        return run(node, exclusions, gap -> {}, time);
    }

    /**
     * As {@link #run(Contestant, Function, Duration)}.
     *
     * @param gaps receives the nanoseconds from the end of the last hold to the next grant; negative if both are of one thread
     */
    public Latencies run(Contestant node, Function<String, Exclusion> exclusions, LongConsumer gaps, Duration time)
            throws Exception {
        List<Callable<Latencies>> work = new ArrayList<>();
        long end = System.nanoTime() + time.toNanos();
        for (int thread = 0; thread < threads; thread++) {
            String own = name.apply(thread);
            Exclusion exclusion = exclusions.apply(own);
            work.add(() -> loop(node, own, exclusion, gaps, end));
        }
        Latencies waits = new Latencies();
        ExecutorService executor = Executors.newFixedThreadPool(threads);
        try {
            for (Future<Latencies> thread : executor.invokeAll(work)) {
                waits.addAll(thread.get());
            }
        } finally {
            executor.shutdownNow();
        }
        return waits;
    }

    private Latencies loop(Contestant node, String own, Exclusion exclusion, LongConsumer gaps, long end)
            throws Exception {
        Latencies waits = new Latencies();
        do {
            long before = System.nanoTime();
            Contestant.Held held;
            try {
                held = node.acquire(own);
            } catch (TimeoutException refused) {
                waits.add(System.nanoTime() - before);
                continue;
            }
            waits.add(System.nanoTime() - before);
            gaps.accept(exclusion.enter());
            pause(hold);
            exclusion.leave();
            held.release();
        } while (System.nanoTime() - end < 0);
        return waits;
    }

    /** Returns after this time, and never earlier. */
    public static void pause(Duration time) {
        long until = System.nanoTime() + time.toNanos();
        for (long left = time.toNanos(); left > 0; left = until - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }
}
