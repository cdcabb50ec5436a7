package io.github.holdfast.benchmark;

import com.sun.management.OperatingSystemMXBean;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.benchmark.contestant.Databases;
import io.github.holdfast.benchmark.contestant.HoldfastLocks;
import io.github.holdfast.benchmark.contestant.Latencies;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.Locks;
import io.github.holdfast.service.LockService;
import io.github.holdfast.sharding.ShardedLocks;
import io.github.holdfast.sharding.Sharding;
import io.github.holdfast.test.RestartableDatabase;
import io.github.holdfast.test.TestDatabase;
import jakarta.persistence.EntityManagerFactory;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Measures acquisitions with their releases per second over 1, 2 and 4 shards by hash, each on a server of its own on this machine. All
 * servers run all the time, and the numbers of shards take turns.
 */
public final class ShardBenchmark implements AutoCloseable {

    private static final List<TestDatabase> DEFAULT = List.of(TestDatabase.POSTGRESQL, TestDatabase.MYSQL);
    private static final List<Integer> SHARDS = List.of(1, 2, 4);
    private static final int THREADS = 16;
    private static final int NAMES_OF_THREAD = 25;
    private static final int ROUNDS = 5;
    private static final Duration TURN = Duration.ofSeconds(5);
    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private final Deque<AutoCloseable> opened = new ArrayDeque<>();
    private final Map<String, LockService> services = new TreeMap<>();
    private final Results<Integer, Turn> results = new Results<>();

    /**
     * The results of one turn.
     *
     * @param perSecond cycles per second
     * @param micros the processor time of this process per cycle, in microseconds
     * @param median the median time of a cycle, in milliseconds
     * @param load how much of the machine's processors all processes used, from 0 to 1
     */
    private record Turn(double perSecond, double micros, double median, double load) {}

    private ShardBenchmark(TestDatabase kind, int shards) {
        for (int shard = 0; shard < shards; shard++) {
            RestartableDatabase server = opened(RestartableDatabase.start(kind));
            HoldfastLocks.createTables(server.database());
            HikariDataSource pool = opened(server.database().pool(config -> config.setMaximumPoolSize(THREADS)));
            EntityManagerFactory unit = opened(HoldfastLocks.unit(pool));
            services.put(
                    "s" + shard,
                    opened(LockService.builder(unit).withoutHousekeeping().build()));
        }
    }

    private <T extends AutoCloseable> T opened(T closeable) {
        opened.push(closeable);
        return closeable;
    }

    /**
     * Runs the benchmark, on servers that wait for the disk at each commit.
     *
     * @param arguments kinds of databases; none, or {@code true} from Maven, for PostgreSQL and MySQL
     * @throws Exception if anything goes wrong
     */
    public static void main(String[] arguments) throws Exception {
        System.setProperty("holdfast.test.durable", "true");
        for (TestDatabase kind : Databases.chosen(arguments, DEFAULT)) {
            try (ShardBenchmark benchmark = new ShardBenchmark(kind, SHARDS.get(SHARDS.size() - 1))) {
                print("%n%s, %d threads, %d names%n", kind.label(), THREADS, THREADS * NAMES_OF_THREAD);
                benchmark.run();
            }
        }
    }

    private void run() throws Exception {
        for (int count : SHARDS) {
            turn(locks(count)); // The first use of each name creates its row.
        }
        for (int round = 0; round < ROUNDS; round++) {
            for (int count : SHARDS) {
                results.add(count, turn(locks(count)));
            }
        }
        print(
                "| Shards | Cycles per second | to 1 shard | Cycle, median | Processor per cycle, client | Machine's load | Busiest shard |");
        print("|---|---|---|---|---|---|---|");
        for (int count : SHARDS) {
            print(
                    "| %d | %,.0f (%,.0f to %,.0f) | %.2f | %.2f ms | %.0f us | %.0f %% | %.0f %% of the names |",
                    count,
                    results.quantile(count, 0.5, Turn::perSecond),
                    results.quantile(count, 0, Turn::perSecond),
                    results.quantile(count, 1, Turn::perSecond),
                    results.ratio(count, 1, 0.5, Turn::perSecond),
                    results.quantile(count, 0.5, Turn::median),
                    results.quantile(count, 0.5, Turn::micros),
                    100 * results.quantile(count, 0.5, Turn::load),
                    100 * busiest(count));
        }
    }

    private Locks locks(int count) {
        Map<String, LockService> some = new TreeMap<>(services);
        some.keySet().retainAll(shards(count));
        return ShardedLocks.of(some, Sharding.byHash(shards(count)));
    }

    private List<String> shards(int count) {
        return List.copyOf(services.keySet()).subList(0, count);
    }

    private static String name(int thread, int number) {
        return "order:" + (thread * NAMES_OF_THREAD + number);
    }

    /** Returns the share of the names that the shard with most names has. */
    private double busiest(int count) {
        Sharding sharding = Sharding.byHash(shards(count));
        Map<String, Integer> names = new TreeMap<>();
        for (int thread = 0; thread < THREADS; thread++) {
            for (int number = 0; number < NAMES_OF_THREAD; number++) {
                names.merge(sharding.shardOf(name(thread, number)), 1, Integer::sum);
            }
        }
        return names.values().stream().mapToInt(Integer::intValue).max().orElseThrow()
                / (double) (THREADS * NAMES_OF_THREAD);
    }

    private static Turn turn(Locks locks) throws Exception {
        long start = System.nanoTime();
        long processorBefore = SYSTEM.getProcessCpuTime();
        double unusedLoadBefore = SYSTEM.getCpuLoad(); // The next call returns the load since this one.
        List<Callable<Latencies>> work = new ArrayList<>();
        for (int thread = 0; thread < THREADS; thread++) {
            int number = thread;
            work.add(() -> cycles(locks, number, start));
        }
        Latencies all = new Latencies();
        ExecutorService executor = Executors.newFixedThreadPool(THREADS);
        try {
            for (Future<Latencies> thread : executor.invokeAll(work)) {
                all.addAll(thread.get());
            }
        } finally {
            executor.shutdownNow();
        }
        double load = SYSTEM.getCpuLoad();
        double processor = SYSTEM.getProcessCpuTime() - processorBefore;
        double seconds = (System.nanoTime() - start) * 1e-9;
        return new Turn(all.count() / seconds, processor * 1e-3 / all.count(), all.quantile(0.5), load);
    }

    /** Each thread has names of its own: contention would measure hand-overs. */
    private static Latencies cycles(Locks locks, int thread, long start) throws Exception {
        Latencies latencies = new Latencies();
        for (int cycle = 0; System.nanoTime() - start < TURN.toNanos(); cycle++) {
            LockRequest request = LockRequest.of(name(thread, cycle % NAMES_OF_THREAD));
            latencies.measure(() -> locks.acquire(request).release());
        }
        return latencies;
    }

    private static void print(String format, Object... values) {
        System.out.println(String.format(Locale.ROOT, format, values));
    }

    @Override
    public void close() throws Exception {
        while (!opened.isEmpty()) {
            opened.pop().close();
        }
    }
}
