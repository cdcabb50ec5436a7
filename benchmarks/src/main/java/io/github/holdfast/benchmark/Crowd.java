package io.github.holdfast.benchmark;

import io.github.holdfast.benchmark.contestant.Contestant;
import io.github.holdfast.benchmark.contestant.Latencies;
import io.github.holdfast.benchmark.contestant.Load;
import io.github.holdfast.benchmark.contestant.ReadWrite;
import io.github.holdfast.lock.LockMode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A crowd of readers or writers that never stops, and a few of the other mode that want the lock, too. The threads of both are
 * spread over the services.
 *
 * @param size the number of threads in the crowd
 * @param others the number of threads of the other mode. They pause between two acquisitions
 * @param hold how long a thread of the crowd holds the lock
 */
record Crowd(String label, LockMode mode, int size, int others, Duration hold) {

    /** What a writer adds to the number of readers inside. The sum is negative while a writer is inside. */
    private static final int WRITER = -1_000_000;

    /** In milliseconds. */
    private static final int SHORTEST_PAUSE = 20;

    private static final int LONGEST_PAUSE = 80;

    /**
     * What the threads experienced.
     *
     * @param waits the wait of each acquisition of the other mode, including those that ended without the lock
     * @param holdsPerSecond how often the crowd had the lock
     */
    record Outcome(Latencies waits, double holdsPerSecond) {}

    /**
     * Runs both on the services.
     *
     * @param time how long the others begin acquisitions; the last ones may take longer
     * @param limit how long an acquisition waits
     * @throws IllegalStateException if a writer and another thread hold the lock at the same time
     */
    Outcome run(List<ReadWrite> services, Duration time, Duration limit) throws Exception {
        Run run = new Run(services, limit, System.nanoTime() + time.toNanos());
        ExecutorService executor = Executors.newFixedThreadPool(size + others);
        long start = System.nanoTime();
        try {
            List<Future<Integer>> crowd = new ArrayList<>();
            for (int number = 0; number < size; number++) {
                ReadWrite service = services.get(number % services.size());
                crowd.add(executor.submit(() -> run.crowd(service)));
            }
            List<Future<Latencies>> waiting = new ArrayList<>();
            for (int number = 0; number < others; number++) {
                int first = number;
                waiting.add(executor.submit(() -> run.other(first)));
            }
            Latencies waits = new Latencies();
            for (Future<Latencies> other : waiting) {
                waits.addAll(other.get());
            }
            run.isOver.set(true);
            double seconds = (System.nanoTime() - start) / 1e9;
            int holds = 0;
            for (Future<Integer> member : crowd) {
                holds += member.get();
            }
            return new Outcome(waits, holds / seconds);
        } finally {
            executor.shutdownNow();
        }
    }

    private final class Run {
        private final List<ReadWrite> services;
        private final Duration limit;
        private final long end;
        private final AtomicBoolean isOver = new AtomicBoolean();
        private final AtomicInteger inside = new AtomicInteger();

        Run(List<ReadWrite> services, Duration limit, long end) {
            this.services = services;
            this.limit = limit;
            this.end = end;
        }

        /** Returns how often the calling thread had the lock. */
        int crowd(ReadWrite service) throws Exception {
            int holds = 0;
            while (!isOver.get()) {
                Optional<Contestant.Held> held = service.acquire(mode, limit);
                if (held.isPresent()) {
                    use(held.get(), mode, hold);
                    holds++;
                }
            }
            return holds;
        }

        /** Goes from service to service, because each of them has a part of the crowd. */
        Latencies other(int first) throws Exception {
            LockMode own = mode == LockMode.SHARED ? LockMode.EXCLUSIVE : LockMode.SHARED;
            Latencies waits = new Latencies();
            int number = first;
            do {
                // The crowd is back at its work before the next wait begins.
                Load.pause(Duration.ofMillis(ThreadLocalRandom.current().nextInt(SHORTEST_PAUSE, LONGEST_PAUSE)));
                ReadWrite service = services.get(number++ % services.size());
                long before = System.nanoTime();
                Optional<Contestant.Held> held = service.acquire(own, limit);
                waits.add(System.nanoTime() - before);
                if (held.isPresent()) {
                    use(held.get(), own, Duration.ZERO);
                }
            } while (System.nanoTime() - end < 0);
            return waits;
        }

        private void use(Contestant.Held held, LockMode own, Duration time) throws Exception {
            int weight = own == LockMode.SHARED ? 1 : WRITER;
            int before = inside.getAndAdd(weight);
            if (before < 0 || (before > 0 && own == LockMode.EXCLUSIVE)) {
                throw new IllegalStateException(own + " and another one hold the lock at the same time: " + before);
            }
            Load.pause(time);
            inside.addAndGet(-weight);
            held.release();
        }
    }
}
