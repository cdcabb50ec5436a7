package io.github.holdfast.benchmark;

import io.github.holdfast.benchmark.contestant.CuratorReadWrite;
import io.github.holdfast.benchmark.contestant.Databases;
import io.github.holdfast.benchmark.contestant.HoldfastReadWrite;
import io.github.holdfast.benchmark.contestant.Latencies;
import io.github.holdfast.benchmark.contestant.ReadWrite;
import io.github.holdfast.benchmark.contestant.ReadWriteServices;
import io.github.holdfast.benchmark.contestant.RedissonReadWrite;
import io.github.holdfast.lock.LockMode;
import io.github.holdfast.test.TestDatabase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Compares shared locks with the read/write locks of Redisson and Curator: the rate of readers that do nothing under the lock, and
 * how long a writer waits among readers that never stop, and readers among writers. Each contestant has four services. All
 * contestants take turns in each round. Compare the ratios, because the absolute figures depend on the machine.
 *
 * <p>The databases and ZooKeeper wait for the disk. Redis does not, as is its default.
 */
public final class SharedLockBenchmark {

    private static final List<TestDatabase> DEFAULT =
            List.of(TestDatabase.POSTGRESQL, TestDatabase.MYSQL, TestDatabase.MARIADB);
    private static final int SERVICES = 4;
    private static final Duration HOLD = Duration.ofMillis(5);
    private static final List<Crowd> CROWDS = List.of(
            new Crowd("a writer among 16 readers", LockMode.SHARED, 4 * SERVICES, 1, HOLD),
            new Crowd("4 readers among 16 writers", LockMode.EXCLUSIVE, 4 * SERVICES, SERVICES, HOLD));

    private final List<ReadWriteServices> contestants;
    private final String redisson;
    private final String curator;
    private final Effort effort;

    private SharedLockBenchmark(List<ReadWriteServices> contestants, Effort effort) {
        this.contestants = contestants;
        this.effort = effort;
        redisson = contestants.get(contestants.size() - 2).label();
        curator = contestants.get(contestants.size() - 1).label();
    }

    /**
     * Runs the benchmark. It takes at most ten minutes.
     *
     * @param arguments at most one argument, a list separated by commas. It may contain names of {@link TestDatabase}, and
     *     {@code quick} for a first look
     * @throws Exception if anything goes wrong, for example if a writer and another thread have the lock at the same time
     */
    public static void main(String[] arguments) throws Exception {
        List<String> words = new ArrayList<>();
        for (String word : arguments.length == 0 ? new String[0] : arguments[0].split(",", -1)) {
            words.add(word.toUpperCase(Locale.ROOT));
        }
        Effort effort = words.remove("QUICK") ? Effort.QUICK : Effort.FULL;
        List<ReadWriteServices> contestants = new ArrayList<>();
        try {
            for (TestDatabase kind : Databases.chosen(words.toArray(new String[0]), DEFAULT)) {
                contestants.add(HoldfastReadWrite.on(kind, SERVICES));
            }
            contestants.add(RedissonReadWrite.start(SERVICES));
            contestants.add(CuratorReadWrite.start(SERVICES));
            SharedLockBenchmark benchmark = new SharedLockBenchmark(contestants, effort);
            benchmark.rates(1);
            benchmark.rates(4);
            for (Crowd crowd : CROWDS) {
                benchmark.waits(crowd);
            }
        } finally {
            for (ReadWriteServices contestant : contestants) {
                contestant.close();
            }
        }
    }

    /** What one contestant does in its turn. */
    private interface Turn<M> {
        M take(ReadWriteServices contestant) throws Exception;
    }

    /** Lets the contestants take turns, each time in another order, so that none always follows the same contestant. */
    private <M> Results<String, M> compare(int rounds, Turn<M> turn) throws Exception {
        Results<String, M> results = new Results<>();
        List<ReadWriteServices> turns = new ArrayList<>(contestants);
        Random order = new Random(2026);
        for (int round = 0; round < rounds; round++) {
            Collections.shuffle(turns, order);
            for (ReadWriteServices contestant : turns) {
                results.add(contestant.label(), turn.take(contestant));
            }
        }
        return results;
    }

    private void rates(int threads) throws Exception {
        Results<String, Double> unusedWarmUp = compare(1, contestant -> rate(contestant, threads, effort.warmUp()));
        Results<String, Double> results =
                compare(effort.rounds(), contestant -> rate(contestant, threads, effort.time()));
        print("%n%d services, threads in each: %d", SERVICES, threads);
        print("%n| | reads per second | p10 to p90 | to Redisson | p10 to p90 | to Curator | p10 to p90 |");
        print("|---|---|---|---|---|---|---|");
        for (ReadWriteServices contestant : contestants) {
            String label = contestant.label();
            print(
                    "| %s | %,.0f | %,.0f to %,.0f | %.2f | %.2f to %.2f | %.2f | %.2f to %.2f |",
                    label,
                    results.quantile(label, 0.5, rate -> rate),
                    results.quantile(label, 0.1, rate -> rate),
                    results.quantile(label, 0.9, rate -> rate),
                    results.ratio(label, redisson, 0.5, rate -> rate),
                    results.ratio(label, redisson, 0.1, rate -> rate),
                    results.ratio(label, redisson, 0.9, rate -> rate),
                    results.ratio(label, curator, 0.5, rate -> rate),
                    results.ratio(label, curator, 0.1, rate -> rate),
                    results.ratio(label, curator, 0.9, rate -> rate));
        }
    }

    /** Returns the reads per second of all services together. */
    private double rate(ReadWriteServices contestant, int threads, Duration time) throws Exception {
        List<Callable<Integer>> work = new ArrayList<>();
        long start = System.nanoTime();
        for (ReadWrite service : contestant.services()) {
            work.addAll(Collections.nCopies(threads, () -> read(service, start + time.toNanos())));
        }
        ExecutorService executor = Executors.newFixedThreadPool(work.size());
        try {
            long reads = 0;
            for (Future<Integer> thread : executor.invokeAll(work)) {
                reads += thread.get();
            }
            return reads / ((System.nanoTime() - start) / 1e9);
        } finally {
            executor.shutdownNow();
        }
    }

    private int read(ReadWrite service, long end) throws Exception {
        int reads = 0;
        while (System.nanoTime() - end < 0) {
            service.acquire(LockMode.SHARED, effort.limit()).orElseThrow().release();
            reads++;
        }
        return reads;
    }

    private void waits(Crowd crowd) throws Exception {
        Results<String, Crowd.Outcome> results = compare(
                effort.crowdRounds(),
                contestant -> crowd.run(contestant.services(), effort.crowdTime(), effort.limit()));
        print("%n%d services, %s that never stop and hold for %d ms", SERVICES, crowd.label(), HOLD.toMillis());
        print(
                "%n| | longest wait | median | waits | without the lock after %d s | holds of the crowd, per second |",
                effort.limit().toSeconds());
        print("|---|---|---|---|---|---|");
        for (ReadWriteServices contestant : contestants) {
            String label = contestant.label();
            Latencies waits = new Latencies();
            results.rounds().getOrDefault(label, List.of()).forEach(outcome -> waits.addAll(outcome.waits()));
            print(
                    "| %s | %,.0f ms | %,.1f ms | %d | %d | %,.0f |",
                    label,
                    waits.quantile(1),
                    waits.quantile(0.5),
                    waits.count(),
                    waits.countLongerThan((double) effort.limit().toMillis()),
                    results.quantile(label, 0.5, Crowd.Outcome::holdsPerSecond));
        }
    }

    private static void print(String format, Object... values) {
        System.out.println(String.format(Locale.ROOT, format, values));
    }

    /**
     * The duration of a benchmark.
     *
     * @param limit how long an acquisition waits; by default as long as Holdfast waits by default
     */
    private record Effort(
            int rounds, Duration warmUp, Duration time, int crowdRounds, Duration crowdTime, Duration limit) {
        static final Effort FULL = new Effort(
                20, Duration.ofSeconds(4), Duration.ofMillis(500), 3, Duration.ofSeconds(6), Duration.ofSeconds(10));
        static final Effort QUICK = new Effort(
                2, Duration.ofMillis(300), Duration.ofMillis(100), 1, Duration.ofSeconds(1), Duration.ofSeconds(2));
    }
}
